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
    starts, owners = trace.starts[:-1], np.repeat(np.arange(trace.requests), np.diff(trace.starts))
    places = np.arange(len(trace.ids)) - np.repeat(starts, np.diff(trace.starts))
    stored_blocks = computed_tokens(trace, ignore_output=ignore_output) // trace.block_size
    stored = places < np.repeat(stored_blocks, np.diff(trace.starts))
    first_owner = np.full(trace.distinct_blocks, trace.requests)
    ids, by = trace.ids[stored][::-1], owners[stored][::-1]
    first_owner[ids] = by  # of several entries the last assigned stays: the earliest request
    missing = np.append(np.flatnonzero(first_owner[trace.ids] >= owners), len(trace.ids))
    shared = np.minimum(missing[np.searchsorted(missing, starts)], trace.starts[1:]) - starts
    most = np.maximum(trace.prompt_tokens - 1, 0) // trace.block_size
    hits: npt.NDArray[np.int64] = np.where(trace.skip_reads, 0, np.minimum(shared, most))
    return hits - hits % match_unit_blocks
