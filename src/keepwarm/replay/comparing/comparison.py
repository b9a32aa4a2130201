"""What a comparison of two runs is."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from keepwarm._json import plain
from keepwarm.replay.measuring.record import Counted

SCHEMA = "keepwarm.comparison/1"


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A figure with its interval; without bounds where there are too few units for any."""

    value: float
    low: float | None
    high: float | None


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the runs. ``chain_sha256`` stands for all files of its folder."""

    label: str
    chain_sha256: str
    started: str
    trace_sha256: str
    requests: Counted


class Pairs(msgspec.Struct, frozen=True, kw_only=True):
    """Requests that are in both runs. ``left_out``: one of the two failed or was not sent."""

    by: Literal["id", "session and position"]
    compared: int
    left_out: int


class Bootstrap(msgspec.Struct, frozen=True, kw_only=True):
    """How the intervals were made: so many resamples of the ``units``, drawn from ``seed``."""

    method: Literal["percentile"] = "percentile"
    confidence: float
    resamples: int
    seed: int
    unit: Literal["request", "session"]
    units: int


class HitRates(msgspec.Struct, frozen=True, kw_only=True):
    """Measured, over the pairs: cached of prompt tokens. ``difference`` is after less before."""

    before: Estimate
    after: Estimate
    difference: Estimate


class Ttft(msgspec.Struct, frozen=True, kw_only=True):
    """Measured, over the pairs, seconds.

    ``ratio`` is the median before over the median after: above 1 is faster now. ``paired_delta_s`` is the
    median over the pairs of after less before.
    """

    before_median_s: Estimate
    after_median_s: Estimate
    ratio: Estimate
    paired_delta_s: Estimate
    faster_pairs: int
    slower_pairs: int


class Differing(msgspec.Struct, frozen=True, kw_only=True):
    """A request whose hit was measured otherwise than simulated."""

    id: str
    measured_tokens: int
    simulated_tokens: int


class SimulatedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run's requests through keepwarm's model of the cache, one after another.

    ``tokens_of``: ``server``, as it counted them before the run, or the tokenizer that was named.
    ``residual_points`` is measured less simulated, in percentage points. ``other_lengths``: requests whose
    prompt the tokenizer makes longer or shorter than the server did.
    """

    tokens_of: str
    policy: str
    requests: int
    measured_hit_rate: float
    simulated_hit_rate: float
    residual_points: float
    equal_requests: int
    other_lengths: int
    differing: tuple[Differing, ...]


class Outputs(msgspec.Struct, frozen=True, kw_only=True):
    """Generated texts of the pairs, by SHA-256."""

    equal: int
    changed: int


class Boundary(msgspec.Struct, frozen=True, kw_only=True):
    """What the figures rest on, in sentences."""

    held_equal: tuple[str, ...]
    not_held_equal: tuple[str, ...]
    limits: tuple[str, ...]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs. ``complete``: every request of both succeeded, and no run contradicts itself."""

    before: Side
    after: Side
    complete: bool
    pairs: Pairs
    bootstrap: Bootstrap
    hit_rate: HitRates
    ttft: Ttft
    simulated_before: tuple[SimulatedRun, ...]
    simulated_after: tuple[SimulatedRun, ...]
    outputs: Outputs
    boundary: Boundary
    warnings: tuple[str, ...]
    schema: str = SCHEMA


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON holds it, its schema first."""
    document: dict[str, Any] = plain(comparison)
    return {"schema": document.pop("schema"), **document}
