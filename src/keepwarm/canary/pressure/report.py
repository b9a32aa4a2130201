"""What a pressure run found: one row per step, and the figures an acceptance decision needs."""

from __future__ import annotations

from typing import Any

import msgspec

from keepwarm._json import plain

SCHEMA = "keepwarm.pressure/1"
PRESERVED_PERCENT = 95


class HotReplay(msgspec.Struct, frozen=True, kw_only=True):
    """One request of the hot prefix with a fresh tail.

    ``cached_tokens`` is what the answer's usage says, ``counter_cached_tokens`` by how much the server's
    own counters of hit tokens rose meanwhile. ``ttft_s`` is the time from sending to the first content
    chunk; ``text`` is what was generated, greedily.
    """

    cached_tokens: int
    counter_cached_tokens: int
    ttft_s: float
    text: str


class PressureStep(msgspec.Struct, frozen=True, kw_only=True):
    """A batch of one-use requests and the hot requests behind it.

    ``flood_requests`` counts from the start of the run, ``batch_requests`` those of this step.
    ``cached_tokens``, ``counter_cached_tokens``, ``ttft_s`` and ``text`` are those of the first hot request,
    None if it failed. ``flood_cached_tokens`` is what one-use prompts hit by the server's counters: 0 where
    they are one-use indeed. ``flood_ttfts_s``: each one's time to the first content chunk, None if it failed.
    ``failed_requests`` counts both kinds.
    """

    flood_requests: int
    batch_requests: int
    cached_tokens: int | None
    counter_cached_tokens: int | None
    ttft_s: float | None
    text: str | None
    flood_cached_tokens: int
    flood_ttfts_s: tuple[float | None, ...]
    failed_requests: int
    replays: tuple[HotReplay, ...]


class Ttft(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds to the first content chunk of hot requests.

    ``cold_s``: nothing cached, None if something was; ``warm_s``: all of the prefix cached;
    ``post_flood_s``: after the last step; ``median_s``: over the steps.
    """

    cold_s: float | None
    warm_s: float
    post_flood_s: float | None
    median_s: float | None


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why requests failed, and how many did."""

    reason: str
    requests: int


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """The plugin's counters and gauges by name and labels, before the first request and after the last.

    Empty where the plugin is not there. Histograms by their sum and count alone.
    """

    before: dict[str, float]
    after: dict[str, float]


class PressureReport(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run.

    ``mode`` is the plugin's effective mode as the server tells it, ``stock`` where there is no plugin.
    ``hot_prefix_preserved``: after every step at least 95% of ``warm_prefix_cached_tokens`` were cached, no
    request failed, and nothing is in ``inconsistencies``: sentences about figures that contradict each
    other, so that none of them can be trusted. ``cache_reset`` is False where the server does not allow it.
    """

    mode: str
    model: str
    seed: int
    max_model_len: int
    block_size: int
    capacity_blocks: int
    hot_prefix_tokens: int
    flood_prompt_tokens: int
    cache_reset: bool
    cold_prefix_cached_tokens: int
    warm_prefix_cached_tokens: int
    post_flood_cached_tokens: int | None
    flood_requests: int
    failed_requests: int
    failures: tuple[Failure, ...]
    hot_prefix_preserved: bool
    inconsistencies: tuple[str, ...]
    ttft: Ttft
    steps: tuple[PressureStep, ...]
    counters: Counters
    schema: str = SCHEMA

    @property
    def consistent(self) -> bool:
        """Whether no two figures contradict each other."""
        return not self.inconsistencies


def is_preserved(warm_tokens: int, cached_tokens: int | None) -> bool:
    """At least 95% of the warm prefix; a failed request (None) preserved nothing."""
    return cached_tokens is not None and 100 * cached_tokens >= PRESERVED_PERCENT * warm_tokens


def pressure_document(report: PressureReport) -> dict[str, Any]:
    """The report as JSON holds it, its schema first."""
    document: dict[str, Any] = plain(report)
    return {"schema": document.pop("schema"), **document}
