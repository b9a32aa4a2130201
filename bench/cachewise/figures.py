"""Ratios to FCFS with LRU: geometric means over seeds, each seed with its own baseline."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from bench.cachewise.plan import SEEDS, Run, baseline_of
from bench.cachewise.store import Stored
from keepwarm.serving.row import Row

# Two-sided 95% quantiles of Student's t, by degrees of freedom.
_T = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}

Measure = Callable[[Row, Row], float]
"""Of a row and its baseline; above 1 is better than the baseline."""

MEASURES: dict[str, Measure] = {
    "completion": lambda row, base: base.session_completion_s / row.session_completion_s,
    "evictions": lambda row, base: base.evicted_blocks / max(1, row.evicted_blocks),
    "goodput": lambda row, base: row.token_goodput / base.token_goodput,
    "P50": lambda row, base: base.request_latency_s.p50 / row.request_latency_s.p50,
    "P99": lambda row, base: base.request_latency_s.p99 / row.request_latency_s.p99,
    "max": lambda row, base: base.request_latency_s.max / row.request_latency_s.max,
    "P99 of later": lambda row, base: base.later_latency_s.p99 / row.later_latency_s.p99,
    "max wait": lambda row, base: base.queue_wait_s.max / max(row.queue_wait_s.max, 1e-9),
    "slowdown P99": lambda row, base: base.slowdown_p99 / row.slowdown_p99,
}


class Ratio(NamedTuple):
    """A geometric mean and its 95% interval over ``seeds`` seeds; the bounds are None for one seed."""

    mean: float
    low: float | None
    high: float | None
    seeds: int


def ratio(
    stored: Mapping[Run, Stored], run: Run, measure: str, *, without_host_memory: bool = False
) -> Ratio | None:
    """Of ``run`` with whatever seed; None if no seed has both rows.

    The baseline is of the same setting, or of the same but for its host memory.
    """
    logs = []
    for seed in SEEDS:
        ours = msgspec.structs.replace(run, seed=seed)
        base = baseline_of(ours)
        if without_host_memory:
            base = msgspec.structs.replace(base, host_memory_gib=0.0)
        if ours in stored and base in stored:
            logs.append(math.log(MEASURES[measure](stored[ours].row, stored[base].row)))
    return _mean(logs) if logs else None


def _mean(logs: Sequence[float]) -> Ratio:
    mean = statistics.fmean(logs)
    if len(logs) == 1:
        return Ratio(math.exp(mean), None, None, 1)
    half = _T[len(logs) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half), len(logs))
