"""Hit rate against capacity, exactly: the kernel at many capacities, and the sizes that near the ceiling.

Every point is a replay of its own, so any policy has a curve, whether or not it is a stack. All figures
are simulated. For traces too long for that, ``sampling`` estimates the curve of LRU.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import msgspec

from keepwarm._progress import Progress, Silent
from keepwarm.cache.bounded import stopping
from keepwarm.cache.ceiling import Ceiling, rate
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.model import CacheModel

PERCENTS_OF_CEILING = (90, 95, 99)

_STEEP = 0.02  # a rise of the hit rate between two capacities that asks for one in between
_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Hits of one policy at one capacity."""

    capacity_blocks: int
    hit_tokens: int
    hit_rate: float


class SizeForCeiling(msgspec.Struct, frozen=True, kw_only=True):
    """The capacity that gets ``percent_of_ceiling`` of the ceiling's hit tokens; None: none that was tried.

    It gets them and one block less does not, unless it is the smallest capacity of the curve. Where hits do
    not always rise with capacity there may be several such sizes: this is one between the first point of
    the curve that gets them and the point before.
    """

    percent_of_ceiling: int
    capacity_blocks: int | None


class PolicyCurve(msgspec.Struct, frozen=True, kw_only=True):
    """One policy: points by rising capacity, and sizes by rising share of the ceiling."""

    policy: str
    points: tuple[CurvePoint, ...]
    sizes: tuple[SizeForCeiling, ...]


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of ``hit_rate_curve``; all policies have points at the same capacities."""

    block_size: int
    ceiling: Ceiling
    policies: tuple[PolicyCurve, ...]


def hit_rate_curve(
    model: CacheModel,
    policies: Sequence[str],
    *,
    capacities_blocks: Sequence[int] = (),
    threads: int | None = None,
    progress: Progress | None = None,
) -> Curve:
    """Replay the trace under each policy at each capacity, and search for the sizes that near the ceiling.

    Without ``capacities_blocks``: ``capacity_grid``, and up to half as many again where a curve is steep.
    ``threads`` replays run at a time, one a core by default. Time: for each policy one replay per capacity
    and some ten per size; the same answer whatever ``threads`` is.

    Raises:
        InputError: the trace has no request, a policy is unknown, or a capacity is not positive.
    """
    heard = progress or Silent()
    cells = _Cells(model, policies, threads or len(os.sched_getaffinity(0)), heard)
    heard.stage("curve", None)
    capacities = sorted(set(capacities_blocks))
    if capacities:
        cells.replay(capacities)
    else:
        capacities = model.capacity_grid()
        model.check_room((policy, capacities[-1]) for policy in policies)
        cells.replay(capacities)
        capacities = _refined(capacities, cells)
    heard.stage("sizes", len(policies) * len(PERCENTS_OF_CEILING))
    sizes = cells.sizes(capacities, model.ceiling_blocks())
    return Curve(
        block_size=model.trace.block_size,
        ceiling=model.ceiling(),
        policies=tuple(
            PolicyCurve(
                policy=policy,
                points=tuple(
                    _point(model.trace, capacity, cells.hit_blocks[policy, capacity])
                    for capacity in capacities
                ),
                sizes=tuple(next(sizes) for _ in PERCENTS_OF_CEILING),
            )
            for policy in policies
        ),
    )


class _Cells:
    """Replays by policy and capacity, several at a time."""

    def __init__(self, model: CacheModel, policies: Sequence[str], threads: int, progress: Progress) -> None:
        self.hit_blocks: dict[tuple[str, int], int] = {}
        self.model = model
        self.policies = policies
        self._threads = threads
        self._progress = progress

    def replay(self, capacities: Iterable[int]) -> None:
        """Fill in ``hit_blocks`` for all policies at these capacities."""
        cells = [(policy, capacity) for policy in self.policies for capacity in capacities]
        self.hit_blocks.update(
            zip(cells, self._map(lambda cell: self.model.hit_blocks(*cell), cells), strict=True)
        )

    def rise(self, low_blocks: int, high_blocks: int) -> int:
        """By how many hit blocks two capacities differ at most."""
        hits = self.hit_blocks
        return max(
            (abs(hits[name, high_blocks] - hits[name, low_blocks]) for name in self.policies), default=0
        )

    def sizes(self, capacities: Sequence[int], ceiling_blocks: int) -> Iterator[SizeForCeiling]:
        """For each policy, the size for each share of the ceiling."""

        def find(wanted: tuple[str, int]) -> SizeForCeiling:
            policy, percent = wanted
            hits = [self.hit_blocks[policy, capacity] for capacity in capacities]
            goal = -(-percent * ceiling_blocks // 100)
            size = _smallest(lambda capacity: self.model.hit_blocks(policy, capacity), capacities, hits, goal)
            return SizeForCeiling(percent_of_ceiling=percent, capacity_blocks=size)

        return self._map(
            find, [(policy, percent) for policy in self.policies for percent in PERCENTS_OF_CEILING]
        )

    def _map(self, work: Callable[[_Item], _Answer], items: Sequence[_Item]) -> Iterator[_Answer]:
        with ThreadPoolExecutor(max_workers=self._threads) as pool, stopping(self.model.bounded):
            for answer in pool.map(work, items):
                self._progress.advance()
                yield answer


def _refined(capacities: list[int], cells: _Cells) -> list[int]:
    """Halve the steepest gaps until none is steep, or there are half as many capacities again."""
    most = len(capacities) * 3 // 2
    steep = _STEEP * cells.model.trace.query_tokens / cells.model.trace.block_size
    while len(capacities) < most:
        gaps = [(cells.rise(low, high), low, high) for low, high in pairwise(capacities) if high - low > 1]
        steepest = sorted((gap for gap in gaps if gap[0] > steep), reverse=True)[: most - len(capacities)]
        if not steepest:
            break
        middles = sorted(round((low * high) ** 0.5) for _, low, high in steepest)
        cells.replay(middles)
        capacities = sorted([*capacities, *middles])
    return capacities


def _smallest(
    hit_blocks: Callable[[int], int], capacities: Sequence[int], hits: Sequence[int], goal: int
) -> int | None:
    """A capacity with at least ``goal`` hits of which one block less has fewer; see ``SizeForCeiling``.

    Halving, helped by guesses: hits between two capacities are nearly a straight line once these are near.
    """
    first = next((index for index, found in enumerate(hits) if found >= goal > 0), None)
    if first is None or first == 0:
        return None if first is None else capacities[0]
    low, high = capacities[first - 1], capacities[first]
    low_hits, high_hits = hits[first - 1], hits[first]
    guessing = True
    while high - low > 1:
        middle = (low + high) // 2
        if guessing:
            middle = low + round((high - low) * (goal - low_hits) / (high_hits - low_hits))
            middle = min(max(middle, low + 1), high - 1)
        guessing = not guessing
        found = hit_blocks(middle)
        if found >= goal:
            high, high_hits = middle, found
        else:
            low, low_hits = middle, found
    return high


def _point(trace: DenseTrace, capacity_blocks: int, hit_blocks: int) -> CurvePoint:
    hit_tokens = hit_blocks * trace.block_size
    return CurvePoint(
        capacity_blocks=capacity_blocks,
        hit_tokens=hit_tokens,
        hit_rate=rate(hit_tokens, trace.query_tokens),
    )
