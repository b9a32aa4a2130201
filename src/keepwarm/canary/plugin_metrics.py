"""What the plugin says of itself on the server's ``/metrics``."""

from __future__ import annotations

from collections.abc import Mapping

import httpx2
import msgspec
from prometheus_client.parser import text_string_to_metric_families

from keepwarm._errors import ServerError
from keepwarm.server.client import VllmClient

_TIMEOUT_S = 30.0


class PluginMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """One reading, counters summed over engines."""

    mode: str  # in effect; "mixed" if the engines differ
    rule: str
    scan_limit: int
    decisions: int
    reordered_decisions: int
    demoted_blocks: int
    scanned_blocks: int
    faults: Mapping[str, int]  # by kind, only those that happened
    tripped_engines: int
    evicted_blocks: Mapping[str, int]  # by class
    evicted_then_requested_tokens: int


def read_plugin_metrics(
    base_url: str, *, api_key: str | None = None, transport: httpx2.BaseTransport | None = None
) -> PluginMetrics:
    """Ask the server once. Raises ServerError: it does not answer, or the plugin is not in it."""
    with VllmClient(base_url, api_key=api_key, transport=transport, timeout_s=_TIMEOUT_S) as client:
        return parse_plugin_metrics(client.metrics_text(), f"{client.name}/metrics")


def parse_plugin_metrics(text: str, place: str) -> PluginMetrics:
    """The reading in Prometheus's text format; ``place`` is for the message. Raises ServerError."""
    try:
        samples = [
            sample
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name.startswith("computecache_")
        ]
    except ValueError as error:
        raise ServerError(f"{place} is not in Prometheus's text format: {error}; is this vLLM?") from error
    if not samples:
        raise ServerError(
            f"{place} shows nothing of the plugin; install keepwarm beside the server's vLLM, "
            "and let the canary start it"
        )
    readings = _Readings([(s.name, s.labels, s.value) for s in samples])
    return PluginMetrics(
        mode=readings.one_in_effect("computecache_effective_mode", "mode"),
        rule=readings.one_in_effect("computecache_effective_rule", "rule"),
        scan_limit=readings.largest("computecache_scan_limit"),
        decisions=readings.total("computecache_decisions_total"),
        reordered_decisions=readings.total("computecache_reordered_decisions_total"),
        demoted_blocks=readings.total("computecache_demoted_blocks_total"),
        scanned_blocks=readings.total("computecache_scanned_blocks_total"),
        faults={k: n for k, n in readings.by("computecache_faults_total", "kind").items() if n},
        tripped_engines=readings.total("computecache_tripped"),
        evicted_blocks=readings.by("computecache_evicted_blocks_total", "class"),
        evicted_then_requested_tokens=readings.total("computecache_evicted_then_requested_tokens_total"),
    )


class _Readings:
    """Samples of the plugin: name, labels, value."""

    def __init__(self, samples: list[tuple[str, dict[str, str], float]]) -> None:
        self._samples = samples

    def total(self, name: str) -> int:
        return int(sum(value for at, _, value in self._samples if at == name))

    def largest(self, name: str) -> int:
        return int(max((value for at, _, value in self._samples if at == name), default=0))

    def by(self, name: str, label: str) -> dict[str, int]:
        sums: dict[str, int] = {}
        for at, labels, value in self._samples:
            if at == name:
                key = labels.get(label, "")
                sums[key] = sums.get(key, 0) + int(value)
        return sums

    def one_in_effect(self, name: str, label: str) -> str:
        """The label's value with engines in it; ``mixed`` for several, ``none`` for none."""
        inside = [value for value, engines in self.by(name, label).items() if engines]
        return inside[0] if len(inside) == 1 else ("mixed" if inside else "none")
