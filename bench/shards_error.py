"""The sampled LRU curve at 1% against the exact one: largest error in points of hit rate, the worse trace."""

from __future__ import annotations

import statistics
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.harness import Result
from bench.traces import agent_sessions, conversation
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.kernels import run_kernel
from keepwarm.cache.model import capacity_grid
from keepwarm.cache.sampling import DEFAULT_RATE, sampled_lru_curve

TARGET = "≤ 0.5"
POINTS = 48  # from the largest prompt to where nothing is evicted
SEEDS = 20


class Errors(NamedTuple):
    """Of each seed: the largest error over the capacities, and the share of errors that are as stated."""

    largest: list[float]
    as_stated: list[float]


def run() -> Result:
    """Exact is the LRU kernel, one replay a capacity. The value is that of the shipped seed, 0."""
    errors = {
        "conversation": errors_of(conversation(), SEEDS),
        "agent_sessions": errors_of(agent_sessions(), SEEDS),
    }
    detail: dict[str, object] = {"rate": DEFAULT_RATE, "capacities": POINTS, "seeds": SEEDS}
    for name, found in errors.items():
        detail[name] = round(found.largest[0], 2)
        detail[f"{name}_median_seed"] = round(statistics.median(found.largest), 2)
        detail[f"{name}_worst_seed"] = round(max(found.largest), 2)
        detail[f"{name}_within_stated"] = f"{statistics.mean(found.as_stated):.1%}"
    return Result(
        "shards-error", round(max(each.largest[0] for each in errors.values()), 2), "points", detail
    )


def errors_of(trace: DenseTrace, seeds: int, *, rate: float = DEFAULT_RATE) -> Errors:
    """Errors of seeds 0 to ``seeds - 1``."""
    capacities = capacity_grid(trace, points=POINTS)
    exact = exact_points(trace, capacities)
    errors = Errors([], [])
    for seed in range(seeds):
        curve = sampled_lru_curve(trace, capacities, rate=rate, seed=seed)
        found = np.abs([100 * point.hit_rate for point in curve.points] - exact)
        errors.largest.append(float(found.max()))
        errors.as_stated.append(float(np.mean(found <= [100 * point.error for point in curve.points])))
    return errors


def exact_points(trace: DenseTrace, capacities_blocks: list[int]) -> npt.NDArray[np.float64]:
    """Exact hit rates in percent."""
    hits = [
        int(run_kernel(trace, policy="lru", capacity_blocks=capacity).hit_blocks.sum())
        for capacity in capacities_blocks
    ]
    return 100 * trace.block_size * np.array(hits) / trace.prompt_tokens.sum()
