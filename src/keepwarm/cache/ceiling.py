"""Hits of a cache that loses nothing, and how large it has to be, by array operations alone."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.places import drop_pages


class Ceiling(msgspec.Struct, frozen=True, kw_only=True):
    """Hits of a cache that loses nothing: what no policy and no capacity can exceed. Simulated."""

    query_tokens: int
    hit_tokens: int
    hit_rate: float


def unbounded_hit_blocks(
    trace: DenseTrace, *, ignore_output: bool = False, match_unit_blocks: int = 1
) -> npt.NDArray[np.int64]:
    """Blocks each request hits where nothing is ever evicted, shape ``(requests,)``.

    A request hits its leading blocks that some earlier one stored, in whole match units, and never the
    one that holds the last token of its prompt. Cost: O(blocks).
    """
    stored = trace.computed_tokens(ignore_output=ignore_output) // trace.block_size
    first_owner = np.full(trace.distinct_blocks, trace.requests, dtype=np.int32)
    # Of several assignments the last one stays: backwards, that of the earliest request.
    bounds = trace.pieces()
    for first, last in reversed(list(pairwise(bounds))):
        piece = _piece(trace, stored, first, last)
        first_owner[piece.ids[piece.stored][::-1]] = piece.owners[piece.stored][::-1]
    shared = np.zeros(trace.requests, dtype=np.int64)
    for first, last in pairwise(bounds):
        piece = _piece(trace, stored, first, last)
        missing = np.append(np.flatnonzero(first_owner[piece.ids] >= piece.owners), len(piece.ids))
        starts = piece.starts[:-1]
        ends = np.minimum(missing[np.searchsorted(missing, starts)], piece.starts[1:])
        shared[first:last] = ends - starts
    hits: npt.NDArray[np.int64] = np.minimum(shared, trace.most_hit_blocks())
    return hits - hits % match_unit_blocks


def ample_blocks(trace: DenseTrace, *, ignore_output: bool = False, match_unit_blocks: int = 1) -> int:
    """A capacity that evicts nothing: twins, answers and a part-block have room in it too."""
    stored = trace.computed_tokens(ignore_output=ignore_output) // trace.block_size
    hits = unbounded_hit_blocks(trace, ignore_output=ignore_output, match_unit_blocks=match_unit_blocks)
    return int((stored - hits).sum()) + 1  # one part-block at a time: the next request takes its place


def rate(part: int, whole: int) -> float:
    """``part`` of ``whole``; 0 of nothing."""
    return part / whole if whole else 0.0


class _Piece(NamedTuple):
    """Some requests: where their ids start, these, who has each, and which are stored in the end."""

    starts: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int32]
    owners: npt.NDArray[np.int32]
    stored: slice | npt.NDArray[np.bool_]


def _piece(trace: DenseTrace, stored: npt.NDArray[np.int64], first: int, last: int) -> _Piece:
    starts = trace.starts[first : last + 1]
    lengths, wanted = np.diff(starts), stored[first:last]
    ids = np.array(trace.ids[starts[0] : starts[-1]])
    drop_pages(trace.ids)
    starts = starts - starts[0]
    owners = np.repeat(np.arange(first, last, dtype=np.int32), lengths)
    if (wanted >= lengths).all():
        return _Piece(starts, ids, owners, slice(None))
    return _Piece(starts, ids, owners, np.arange(starts[-1]) < np.repeat(starts[:-1] + wanted, lengths))
