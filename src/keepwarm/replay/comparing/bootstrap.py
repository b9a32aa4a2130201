"""Intervals by resampling: percentile bootstrap over sessions, or over requests where few sessions are named.

Requests of one session share a prefix and are not independent, so sessions are drawn as wholes. Both runs are
drawn together: a unit brings its requests of BEFORE and of AFTER. Source: Efron, Tibshirani, An Introduction
to the Bootstrap, 1993, chapters 8 and 13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm.replay.comparing.comparison import Bootstrap, Estimate

CONFIDENCE = 0.95
LEAST_UNITS = 8  # fewer give an interval that only looks like one
_RESAMPLES, _RESAMPLES_IF_MANY, _MANY_REQUESTS = 10_000, 2_000, 5_000
_CHUNK_CELLS = 4_000_000

Floats = npt.NDArray[np.float64]
Weights = npt.NDArray[np.int64]
Statistic = Callable[[Weights], Floats]
"""From how often each request was drawn, shape (resamples, requests), one value per resample."""


class Resampler:
    """Draws the same resamples for every statistic."""

    def __init__(self, sessions: Sequence[str | None], seed: int) -> None:
        named = None not in sessions and len(set(sessions)) >= LEAST_UNITS
        units = sessions if named else range(len(sessions))
        numbers = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
        self._unit_of = np.array([numbers[unit] for unit in units], dtype=np.int64)
        self._seed = seed
        self.info = Bootstrap(
            confidence=CONFIDENCE,
            resamples=_RESAMPLES if len(sessions) <= _MANY_REQUESTS else _RESAMPLES_IF_MANY,
            seed=seed,
            unit="session" if named else "request",
            units=len(numbers),
        )

    def estimate(self, statistic: Statistic) -> Estimate:
        """The statistic of what was measured, and the interval of it."""
        value = float(statistic(np.ones((1, len(self._unit_of)), dtype=np.int64))[0])
        if self.info.units < LEAST_UNITS:
            return Estimate(value=value, low=None, high=None)
        drawn = np.concatenate([statistic(weights) for weights in self._weights()])
        tail = 100 * (1 - CONFIDENCE) / 2
        low, high = np.percentile(drawn[np.isfinite(drawn)], (tail, 100 - tail)).tolist()
        return Estimate(value=value, low=low, high=high)

    def _weights(self) -> Iterator[Weights]:
        random = np.random.default_rng(self._seed)
        units, requests = self.info.units, len(self._unit_of)
        left, at_once = self.info.resamples, max(1, _CHUNK_CELLS // max(units, requests))
        while left:
            size = min(left, at_once)
            drawn = random.integers(0, units, size=(size, units))
            counts = np.zeros((size, units), dtype=np.int64)
            np.add.at(counts, (np.arange(size)[:, None], drawn), 1)
            yield counts[:, self._unit_of]
            left -= size


class Columns(NamedTuple):
    """The pairs, column by column; shape (pairs,)."""

    prompt_before: Floats
    prompt_after: Floats
    cached_before: Floats
    cached_after: Floats
    ttft_before_s: Floats
    ttft_after_s: Floats


def rate(cached: Floats, prompt: Floats) -> Statistic:
    """Cached of prompt tokens."""
    return lambda weights: _ratio(weights @ cached, weights @ prompt)


def rise(columns: Columns) -> Statistic:
    """The hit rate after less the one before."""
    before = rate(columns.cached_before, columns.prompt_before)
    after = rate(columns.cached_after, columns.prompt_after)
    return lambda weights: after(weights) - before(weights)


def median(values: Floats) -> Statistic:
    """The median, each value as often as it was drawn."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]

    def statistic(weights: Weights) -> Floats:
        reached = np.cumsum(weights[:, order], axis=1)
        total = reached[:, -1:]
        low = (reached > (total - 1) // 2).argmax(axis=1)
        high = (reached > total // 2).argmax(axis=1)
        middle: Floats = (ranked[low] + ranked[high]) / 2
        return middle

    return statistic


def median_ratio(above: Floats, below: Floats) -> Statistic:
    """One median over another."""
    first, second = median(above), median(below)
    return lambda weights: _ratio(first(weights), second(weights))


def _ratio(above: Floats, below: Floats) -> Floats:
    """0 where there is nothing to divide by."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
