"""How much there is of all that the arrays of a replay grow with."""

from __future__ import annotations

from typing import NamedTuple

from keepwarm.cache.dense import DenseTrace


class Extent(NamedTuple):
    """See ``Setup``. ``blocks``: all ids. ``most_blocks``: what requests take in the end, answers too."""

    slots: int
    table_blocks: int
    distinct_blocks: int
    requests: int
    blocks: int
    most_blocks: int


def extent_of(trace: DenseTrace, capacity_blocks: int, *, ignore_output: bool) -> Extent:
    """Of a replay with that capacity; slots that would stay blank are left out."""
    taken = -(-trace.computed_tokens(ignore_output=ignore_output) // trace.block_size)
    most_blocks = int(taken.sum())
    slots = min(capacity_blocks, max(1, most_blocks))
    table_blocks = min(slots, int(taken.max(initial=0)))
    return Extent(slots, table_blocks, trace.distinct_blocks, trace.requests, len(trace.ids), most_blocks)
