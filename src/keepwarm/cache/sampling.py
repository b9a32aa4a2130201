"""The LRU curve of a trace from few of its blocks: spatial sampling, with a stated error.

As in SHARDS (Waldspurger, Park, Garthwaite, Ahmad: Efficient MRC construction with SHARDS, FAST 2015) some
blocks are followed through the whole trace, and their stack distances are scaled up. Three things differ,
because prompts share prefixes; ``docs/design/curves.md`` has the figures:

- What requests show without following a block is counted, not sampled: all re-uses (they make the ceiling),
  those of what the request just before had too, and the contents that requests introduce.
- A block's chance grows with its re-uses: one re-use is picked in every so many, in order of the age of the
  request's deepest old block, which goes with the distance. A block never used again is not followed.
- Old blocks used in between are scaled by how many old blocks the requests in between had.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from keepwarm._errors import InputError
from keepwarm.cache.dense import PIECE_BLOCKS, DenseTrace
from keepwarm.cache.stack_distance import (
    NOT_COUNTED,
    Shapes,
    Uses,
    find_uses,
    leading_blocks,
    renumbered,
    use_distances,
)

DEFAULT_RATE = 0.01

_GROUPS = 8  # subsamples whose spread states the error
_LEAST_PICKS = 500  # of fewer their spread says too little: docs/design/curves.md
_BYTES_PER_REQUEST, _BYTES_PER_PICK, _BYTES_PER_USE = 200, 64, 112
_T_95 = 2.365  # Student's t: 95% of a mean of eight


class SampledPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Estimated hits at one capacity. With 95% confidence the exact ``hit_rate`` is within ``error``."""

    capacity_blocks: int
    hit_tokens: int
    hit_rate: float
    error: float


class SampledCurve(msgspec.Struct, frozen=True, kw_only=True):
    """Estimated LRU hit rate against capacity; ``ceiling_hit_tokens`` is exact. All figures are simulated.

    ``followed_blocks`` of ``distinct_blocks`` contents were followed, over ``followed_uses`` uses.
    """

    rate: float
    seed: int
    block_size: int
    distinct_blocks: int
    followed_blocks: int
    followed_uses: int
    query_tokens: int
    ceiling_hit_tokens: int
    points: tuple[SampledPoint, ...]


class _Sample(NamedTuple):
    """``picks`` (groups, followed blocks): how often each was picked; a pick is worth ``step`` re-uses."""

    followed: npt.NDArray[np.int32]
    picks: npt.NDArray[np.int64]
    step: float


def sampled_lru_curve(
    trace: DenseTrace,
    capacities_blocks: Sequence[int],
    *,
    rate: float = DEFAULT_RATE,
    seed: int = 0,
    ignore_output: bool = False,
    check_room: Callable[[int], None] | None = None,
) -> SampledCurve:
    """Estimate the LRU hit rate at each capacity, in ascending order, from ``rate`` of the distinct blocks.

    From 500 of them at least: ``rate`` of the answer is the one that was taken.

    Meant for capacities from the largest request on. Twins are not modelled; a match unit is one block.
    Which blocks are followed depends on trace, rate and seed alone. At rate 1, or if all re-uses would be
    picked, every re-used block is followed and nothing is estimated. Memory: some 100 bytes a request and a
    followed use; where known answers are ignored or cut, a copy of the ids and 4 bytes a distinct block.
    ``check_room`` is told the bytes before they are taken, first what can be known without a look at the
    trace; what it raises ends the work.

    Raises:
        InputError: ``rate`` is not above 0 and at most 1, or a capacity is not positive.
    """
    check_rate(rate)
    rate = min(1.0, max(rate, _LEAST_PICKS / max(1, trace.distinct_blocks)))
    if min(capacities_blocks, default=1) < 1:
        raise InputError(f"capacity of {min(capacities_blocks)!r} blocks is not positive; give usable blocks")
    if check_room is not None:
        check_room(_bytes_before_uses(trace, rate, ignore_output=ignore_output))
    starts, ids, distinct_blocks = _stored(trace, ignore_output)
    shapes = _shapes(trace, starts, ids, ignore_output)
    sample = _choose(
        starts, ids, shapes, picks=max(_GROUPS, round(rate * distinct_blocks)), rate=rate, seed=seed
    )
    if check_room is not None:
        held_bytes = _bytes_before_uses(trace, 0.0, ignore_output=ignore_output)
        check_room(held_bytes + _BYTES_PER_USE * _count_uses(ids, sample.followed, distinct_blocks))
    uses = find_uses(starts, ids, sample.followed)
    capacities = np.unique(np.asarray(capacities_blocks, dtype=np.int64))
    hit_blocks, error_blocks = _estimate(sample, uses, shapes, capacities)
    query_tokens = trace.query_tokens
    scale = trace.block_size / query_tokens if query_tokens else 0.0
    return SampledCurve(
        rate=rate,
        seed=seed,
        block_size=trace.block_size,
        distinct_blocks=distinct_blocks,
        followed_blocks=len(sample.followed),
        followed_uses=len(uses.block),
        query_tokens=query_tokens,
        ceiling_hit_tokens=int(shapes.asked_blocks.sum()) * trace.block_size,
        points=tuple(
            SampledPoint(
                capacity_blocks=capacity,
                hit_tokens=round(hits * trace.block_size),
                hit_rate=hits * scale,
                error=error * scale,
            )
            for capacity, hits, error in zip(
                capacities.tolist(), hit_blocks.tolist(), error_blocks.tolist(), strict=True
            )
        ),
    )


def check_rate(rate: float) -> None:
    """Raises InputError: the share of the blocks is none."""
    if not 0 < rate <= 1:
        raise InputError(
            f"sampling rate {rate!r} is not above 0 and at most 1; write 0.01 for 1% of the blocks"
        )


def _bytes_before_uses(trace: DenseTrace, rate: float, *, ignore_output: bool) -> int:
    copied = 4 * (len(trace.ids) + trace.distinct_blocks) if ignore_output else 0
    return copied + _BYTES_PER_REQUEST * trace.requests + int(_BYTES_PER_PICK * rate * len(trace.ids))


def _count_uses(ids: npt.NDArray[np.int32], followed: npt.NDArray[np.int32], distinct: int) -> int:
    is_followed = np.zeros(distinct, dtype=np.bool_)
    is_followed[followed] = True
    steps = range(0, len(ids), PIECE_BLOCKS)
    return sum(int(is_followed[ids[step : step + PIECE_BLOCKS]].sum()) for step in steps)


def _stored(
    trace: DenseTrace, ignore_output: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], int]:
    """Starts, ids and number of distinct ones of the blocks that are stored in the end."""
    known = np.diff(trace.starts)
    stored = np.minimum(known, trace.computed_tokens(ignore_output=ignore_output) // trace.block_size)
    if bool((stored == known).all()):
        return trace.starts, trace.ids, trace.distinct_blocks
    ids = renumbered(trace.starts, trace.ids, stored, trace.distinct_blocks)
    return _sums(stored), ids, int(ids.max(initial=-1)) + 1


def _shapes(
    trace: DenseTrace, starts: npt.NDArray[np.int64], ids: npt.NDArray[np.int32], ignore_output: bool
) -> Shapes:
    old = np.zeros(trace.requests, dtype=np.int64)
    repeated = np.zeros(trace.requests, dtype=np.int64)
    leading_blocks(starts, ids, old, repeated)
    tokens = trace.computed_tokens(ignore_output=ignore_output)
    known = np.diff(starts)
    return Shapes(
        old_blocks=old,
        asked_blocks=np.minimum(old, trace.most_hit_blocks()),
        repeated_blocks=repeated,
        part_block=(tokens % trace.block_size > 0).astype(np.int64),
        distinct_sums=_sums(known - old),
        unknown_sums=_sums(tokens // trace.block_size - known),
        old_sums=_sums(old - repeated),
    )


def _sums(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    sums = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=sums[1:])
    return sums


def _choose(
    starts: npt.NDArray[np.int64],
    ids: npt.NDArray[np.int32],
    shapes: Shapes,
    *,
    picks: int,
    rate: float,
    seed: int,
) -> _Sample:
    """Pick one re-use in every ``step``, from a start that the seed gives; follow the blocks found there."""
    counts = shapes.old_blocks - shapes.repeated_blocks
    reuses = int(shapes.old_sums[-1])
    if rate == 1 or picks >= reuses:
        places = np.arange(reuses) + np.repeat(
            starts[:-1] + shapes.repeated_blocks - shapes.old_sums[:-1], counts
        )
        followed, times = np.unique(ids[places], return_counts=True)
        return _Sample(followed, times[np.newaxis], 1.0)
    order = np.argsort(_ages(starts, ids, shapes), kind="stable")
    sums = _sums(counts[order])
    step = reuses / picks
    positions = ((np.arange(picks) + _unit_interval(seed)) * step).astype(np.int64)
    at = np.searchsorted(sums, positions, side="right") - 1
    requests = order[at]
    picked = ids[starts[requests] + shapes.repeated_blocks[requests] + positions - sums[at]]
    followed, numbers = np.unique(picked, return_inverse=True)
    times = np.zeros((_GROUPS, len(followed)), dtype=np.int64)
    np.add.at(times, (np.arange(picks) % _GROUPS, numbers), 1)
    return _Sample(followed, times, step)


def _ages(starts: npt.NDArray[np.int64], ids: npt.NDArray[np.int32], shapes: Shapes) -> npt.NDArray[np.int64]:
    """Contents introduced since each request's deepest old block was; 0 where it has none."""
    has_old = shapes.old_blocks > 0
    deepest = ids[(starts[:-1] + shapes.old_blocks - 1)[has_old]]
    introduced_by = np.searchsorted(shapes.distinct_sums, deepest, side="right")  # the request after
    ages = np.zeros(len(has_old), dtype=np.int64)
    ages[has_old] = shapes.distinct_sums[:-1][has_old] - shapes.distinct_sums[introduced_by]
    return ages


def _unit_interval(seed: int) -> float:
    digest = hashlib.blake2b(str(seed).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64


def _estimate(
    sample: _Sample, uses: Uses, shapes: Shapes, capacities: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Hit blocks at each capacity, and half the width of their 95% interval."""
    old = uses.depth >= shapes.repeated_blocks[uses.request]
    first = np.zeros(len(sample.followed), dtype=np.int64)
    first[uses.block[::-1]] = np.arange(len(uses.block))[::-1]
    old[first] = False  # where a block is introduced
    reuses = np.bincount(uses.block[old], minlength=len(sample.followed))
    counted = _repeated_hits(shapes, capacities)
    ceiling = float(shapes.asked_blocks.sum())
    groups = len(sample.picks)
    hits = counted + _sampled_hits(uses, sample.picks.sum(axis=0) * sample.step / reuses, shapes, capacities)
    if groups == 1:
        return hits, np.zeros(len(capacities))
    by_group = np.empty((groups, len(capacities)))
    for group, picks in enumerate(sample.picks):
        mine = np.flatnonzero(picks[uses.block])
        part = Uses(uses.request[mine], uses.depth[mine], uses.block[mine])
        weights = picks * (groups * sample.step) / reuses
        by_group[group] = _sampled_hits(part, weights, shapes, capacities)
    errors = _T_95 * by_group.std(axis=0, ddof=1) / np.sqrt(groups)
    return np.minimum(hits, ceiling), errors


def _sampled_hits(
    uses: Uses, weights: npt.NDArray[np.float64], shapes: Shapes, capacities: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    distances = use_distances(uses, weights, shapes)
    counted = distances != NOT_COUNTED
    enough = np.searchsorted(capacities, distances[counted])  # index of the smallest capacity that hits
    hits = np.bincount(enough, weights[uses.block[counted]], minlength=len(capacities) + 1)
    return np.cumsum(hits[:-1])


def _repeated_hits(shapes: Shapes, capacities: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Hits on blocks that the request just before had: their stack distance is their depth."""
    repeated = np.minimum(shapes.repeated_blocks, shapes.asked_blocks)[1:]
    hits = np.zeros(len(capacities))
    for part in (0, 1):
        lengths = np.sort(repeated[shapes.part_block[:-1] == part])
        room = capacities - part
        shorter = np.searchsorted(lengths, room)
        hits += _sums(lengths)[shorter] + room * (len(lengths) - shorter)
    return hits
