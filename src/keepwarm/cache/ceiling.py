"""Hits of a cache that loses nothing, and how large it has to be, by array operations alone."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from keepwarm.cache.dense import DenseTrace


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
    known = np.diff(trace.starts)
    owners = np.repeat(np.arange(trace.requests, dtype=np.int32), known)
    first_owner = np.full(trace.distinct_blocks, trace.requests, dtype=np.int32)
    stored = trace.computed_tokens(ignore_output=ignore_output) // trace.block_size
    kept = slice(None) if (stored >= known).all() else _leading(known, stored)
    # Of several assignments the last one stays: backwards, that of the earliest request.
    first_owner[trace.ids[kept][::-1]] = owners[kept][::-1]
    missing = np.append(np.flatnonzero(first_owner[trace.ids] >= owners), len(trace.ids))
    starts = trace.starts[:-1]
    shared = np.minimum(missing[np.searchsorted(missing, starts)], trace.starts[1:]) - starts
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


def _leading(lengths: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Of parts laid end to end, which entries are among the first ``wanted`` of their part."""
    places = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return places < np.repeat(wanted, lengths)
