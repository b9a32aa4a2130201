"""Call sites as Prometheus metrics; docs/reference/metrics.md says what each is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from keepwarm.watch.changes import DIRECTIONS
from keepwarm.watch.meters import Origin, OriginMeter, SiteMeter

PREFIX = "keepwarm_call_site"


class Following(NamedTuple):
    """How the recording is followed: lines that were no request, how often the file was another, when."""

    skipped_lines: int
    rotations: int
    last_request_s: float | None


def families(sites: Sequence[SiteMeter], following: Following) -> Iterator[Metric]:
    """Everything that a scrape gets, in the order of ``sites``."""
    yield from _counters(sites)
    yield from _gauges(sites)
    yield from _of_following(following)


def _counters(sites: Sequence[SiteMeter]) -> Iterator[Metric]:
    requests = CounterMetricFamily(f"{PREFIX}_requests", "Requests read.", labels=["call_site"])
    labels = ["call_site", "origin"]
    prompt = CounterMetricFamily(f"{PREFIX}_prompt_tokens", "Prompt tokens.", labels=labels)
    hit = CounterMetricFamily(f"{PREFIX}_hit_tokens", "Prompt tokens that were hits.", labels=labels)
    changes = CounterMetricFamily(
        f"{PREFIX}_changes", "Changes of the hit rate found.", labels=[*labels, "direction"]
    )
    for site in sites:
        requests.add_metric([site.site], site.requests)
    for site, origin, meter in _meters(sites):
        prompt.add_metric([site.site, origin], meter.prompt_tokens)
        hit.add_metric([site.site, origin], meter.hit_tokens)
        for direction in DIRECTIONS:
            changes.add_metric([site.site, origin, direction], meter.test.changes[direction])
    yield from (requests, prompt, hit, changes)


def _gauges(sites: Sequence[SiteMeter]) -> Iterator[Metric]:
    labels = ["call_site", "origin"]
    rate = GaugeMetricFamily(f"{PREFIX}_hit_rate", "Mean hit share.", labels=[*labels, "window"])
    score = GaugeMetricFamily(
        f"{PREFIX}_change_score", "From 1 on the hit rate has changed.", labels=[*labels, "direction"]
    )
    info = GaugeMetricFamily(f"{PREFIX}_info", "The call site's name.", labels=["call_site", "name"])
    for site, origin, meter in _meters(sites):
        for window, value in (("last", meter.last), ("reference", meter.test.reference)):
            if value is not None:
                rate.add_metric([site.site, origin, window], value)
        for direction in DIRECTIONS:
            score.add_metric([site.site, origin, direction], meter.test.score(direction))
    for site in sites:
        info.add_metric([site.site, site.name], 1)
    yield from (rate, score, info)


def _of_following(following: Following) -> Iterator[Metric]:
    yield CounterMetricFamily(
        "keepwarm_watch_skipped_lines", "Lines that were no request.", value=following.skipped_lines
    )
    yield CounterMetricFamily(
        "keepwarm_watch_rotations", "Times the recording was another file.", value=following.rotations
    )
    if following.last_request_s is not None:
        yield GaugeMetricFamily(
            "keepwarm_watch_last_request_time_seconds",
            "Epoch time of the newest request.",
            value=following.last_request_s,
        )


def _meters(sites: Iterable[SiteMeter]) -> Iterator[tuple[SiteMeter, Origin, OriginMeter]]:
    """Per site and origin; an origin of which nothing is known shows nothing."""
    for site in sites:
        for origin, meter in site.origins.items():
            if meter.prompt_tokens:
                yield site, origin, meter
