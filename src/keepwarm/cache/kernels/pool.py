"""The block pool of ``cache/pool.py`` in flat arrays, for one request at a time.

A block is a slot, numbered from 0 (the reference pool's block ids less one). Its content is a dense id,
or ``-1 - k`` for the k-th answer block of unknown content. Blank slots are those never handed out, in
order, and at most one spare: only the last block of a request can end without content.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Where the counters of a pool are.
ALLOCATED = 0  # blocks handed out so far
UNKNOWN = 1  # answer blocks of unknown content so far
FRESH = 2  # slots below were handed out at least once
SPARE = 3  # the blank slot that was handed out before, or NO_SLOT
EVENTS = 4  # evictions so far
COUNTERS = 5

NO_SLOT = -1
NEVER_CACHED = -1  # as a place


class Requests(NamedTuple):
    """A ``DenseTrace`` as the kernel reads it, with what is the same for all of its requests."""

    block_size: int
    starts: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int32]
    prompt_tokens: npt.NDArray[np.int64]
    output_tokens: npt.NDArray[np.int64]
    skip_reads: npt.NDArray[np.bool_]


class Pool(NamedTuple):
    """``places[id]`` is the oldest slot with that content, NEVER_CACHED, or ``-2 - t`` if lost at time t.

    Time is the number of blocks handed out before. Slots of equal content form a ring by ``next_twin``,
    oldest first; a slot alone is its own next, and only then ``previous_twin`` is not kept.
    """

    capacity_blocks: int
    match_unit_blocks: int
    places: npt.NDArray[np.int64]
    contents: npt.NDArray[np.int32]
    next_twin: npt.NDArray[np.int32]
    previous_twin: npt.NDArray[np.int32]
    table: npt.NDArray[np.int32]
    counters: npt.NDArray[np.int64]


def new_pool(capacity_blocks: int, match_unit_blocks: int, distinct_blocks: int, table_blocks: int) -> Pool:
    """An empty pool; ``table_blocks`` is the length of the longest block table."""
    counters = np.zeros(COUNTERS, dtype=np.int64)
    counters[SPARE] = NO_SLOT
    return Pool(
        capacity_blocks,
        match_unit_blocks,
        np.full(distinct_blocks, NEVER_CACHED, dtype=np.int64),
        np.zeros(capacity_blocks, dtype=np.int32),
        np.zeros(capacity_blocks, dtype=np.int32),
        np.zeros(capacity_blocks, dtype=np.int32),
        np.zeros(table_blocks, dtype=np.int32),
        counters,
    )


def asked_blocks(requests: Requests, pool: Pool, index: int) -> int:
    """How many of its first ids a request looks up: never that of its last token; 0 if it is too large."""
    prompt_tokens = requests.prompt_tokens[index]
    if requests.skip_reads[index] or prompt_tokens > pool.capacity_blocks * requests.block_size:
        return 0
    known = requests.starts[index + 1] - requests.starts[index]
    return int(min(known, max(0, prompt_tokens - 1) // requests.block_size))


def computed_tokens(requests: Requests, pool: Pool, index: int) -> int:
    """Tokens whose KV exists in the end: all but the last sampled one, as far as the capacity goes."""
    tokens = requests.prompt_tokens[index] + max(0, requests.output_tokens[index] - 1)
    return int(min(tokens, pool.capacity_blocks * requests.block_size))


def look_up(pool: Pool, ids: npt.NDArray[np.int32], asked: int) -> int:
    """Put the slots of the longest cached prefix of ``ids[:asked]`` into the table; returns its length."""
    places, table = pool.places, pool.table
    for index in range(asked):
        place = places[ids[index]]
        if place < 0:
            return index
        table[index] = place
    return asked


def set_content(pool: Pool, slot: int, content: int) -> None:
    """Let look-ups find a slot under its content, behind older twins."""
    pool.contents[slot] = content
    next_twin = pool.next_twin
    next_twin[slot] = slot
    if content < 0:
        return
    oldest = pool.places[content]
    if oldest < 0:
        pool.places[content] = slot
        return
    newest = oldest if next_twin[oldest] == oldest else pool.previous_twin[oldest]
    next_twin[newest] = slot
    pool.previous_twin[slot] = newest
    next_twin[slot] = oldest
    pool.previous_twin[oldest] = slot


def forget_content(pool: Pool, slot: int, time: int) -> int:
    """Look-ups find the slot no more; returns what its content was."""
    content = int(pool.contents[slot])
    if content < 0:
        return content
    following = pool.next_twin[slot]
    if following == slot:
        pool.places[content] = -2 - time
        return content
    previous = pool.previous_twin[slot]
    pool.next_twin[previous] = following
    pool.previous_twin[following] = previous
    if pool.places[content] == slot:
        pool.places[content] = following
    return content


def has_twin(pool: Pool, slot: int) -> bool:
    """Whether another slot, in use or free, has the same content."""
    return bool(pool.next_twin[slot] != slot)


def blank_slots(pool: Pool) -> int:
    """Number of slots without content that are not in use."""
    counters = pool.counters
    return int(pool.capacity_blocks - counters[FRESH] + (counters[SPARE] != NO_SLOT))
