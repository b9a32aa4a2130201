"""Hits of a cache that loses nothing, by array operations alone."""

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


def computed_tokens(trace: DenseTrace, *, ignore_output: bool) -> npt.NDArray[np.int64]:
    """Tokens of each request whose KV exists in the end: all but the last sampled one."""
    if ignore_output:
        return trace.prompt_tokens
    return trace.prompt_tokens + np.maximum(trace.output_tokens - 1, 0)


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
    stored = computed_tokens(trace, ignore_output=ignore_output) // trace.block_size
    kept = slice(None) if (stored >= known).all() else _leading(known, stored)
    # Of several assignments the last one stays: backwards, that of the earliest request.
    first_owner[trace.ids[kept][::-1]] = owners[kept][::-1]
    missing = np.append(np.flatnonzero(first_owner[trace.ids] >= owners), len(trace.ids))
    starts = trace.starts[:-1]
    shared = np.minimum(missing[np.searchsorted(missing, starts)], trace.starts[1:]) - starts
    most = np.maximum(trace.prompt_tokens - 1, 0) // trace.block_size
    hits: npt.NDArray[np.int64] = np.where(trace.skip_reads, 0, np.minimum(shared, most))
    return hits - hits % match_unit_blocks


def _leading(lengths: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Of parts laid end to end, which entries are among the first ``wanted`` of their part."""
    places = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return places < np.repeat(wanted, lengths)
