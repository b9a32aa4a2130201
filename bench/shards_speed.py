"""How many times faster the sampled LRU curve at 1% is than the exact one of as many points, worse trace."""

from __future__ import annotations

import statistics

from bench.harness import Result, cpu_s
from bench.shards_error import exact_points
from bench.traces import agent_sessions, conversation
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.model import DEFAULT_POINTS, capacity_grid
from keepwarm.cache.sampling import DEFAULT_RATE, sampled_lru_curve

TARGET = "≥ 20×"
RUNS = 3


def run() -> Result:
    """CPU time of one thread, both sides compiled beforehand, in turn; traces loaded.

    Exact: ``run_kernel`` under ``lru``, a replay for each point. Sampled: ``sampled_lru_curve``, its error
    bars included.
    """
    ratios = {}
    detail: dict[str, object] = {"rate": DEFAULT_RATE, "points": DEFAULT_POINTS, "runs": RUNS}
    for name, load in {"conversation": conversation, "agent_sessions": agent_sessions}.items():
        exact_s, sampled_s = _medians_s(load())
        ratios[name] = exact_s / sampled_s
        detail[f"{name}_exact_ms"] = round(1000 * exact_s)
        detail[f"{name}_sampled_ms"] = round(1000 * sampled_s, 1)
        detail[f"{name}_ratio"] = round(ratios[name], 1)
    return Result("shards-speed", round(min(ratios.values()), 1), "×", detail)


def _medians_s(trace: DenseTrace) -> tuple[float, float]:
    """Of the exact and of the sampled curve, each of which is compiled before the clock starts."""
    capacities = capacity_grid(trace)
    exact_points(trace, capacities[:1])
    sampled_lru_curve(trace, capacities)
    exact_s, sampled_s = [], []
    for _ in range(RUNS):
        exact_s.append(cpu_s(lambda: exact_points(trace, capacities)))
        sampled_s.append(cpu_s(lambda: sampled_lru_curve(trace, capacities)))
    return statistics.median(exact_s), statistics.median(sampled_s)
