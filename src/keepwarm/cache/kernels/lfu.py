"""The kernel of ``policies/lfu.py``: one list per number of hits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm.cache.kernels.lists import (
    Links,
    append_table,
    count_nodes,
    new_links,
    pop_first,
    unlink_table,
)
from keepwarm.cache.kernels.operations import PolicyKernel, Setup
from keepwarm.cache.kernels.pool import Pool
from keepwarm.policies.lfu import MOST_HITS


class LfuState(NamedTuple):
    """List ``n`` has its sentinel at ``queues + n``; all lists below ``lowest[0]`` are empty."""

    links: Links
    queues: int
    hits: npt.NDArray[np.uint8]  # of each slot, since it was cached
    lowest: npt.NDArray[np.int64]


def new_state(setup: Setup) -> LfuState:
    """Empty lists."""
    return LfuState(
        new_links(setup.slots, MOST_HITS + 1),
        setup.slots,
        np.zeros(setup.slots, dtype=np.uint8),
        np.zeros(1, dtype=np.int64),
    )


def on_hits(state: LfuState, pool: Pool, hits: int) -> None:
    """Take them out and count."""
    table, counts = pool.table, state.hits
    unlink_table(state.links, table, hits)
    for index in range(hits):
        slot = table[index]
        counts[slot] += counts[slot] < MOST_HITS


def pop_victim(state: LfuState, pool: Pool) -> int:
    """Take the head of the lowest list that is not empty; the search goes on from where it ended."""
    after, lowest = state.links.after, state.lowest
    sentinel = state.queues + lowest[0]
    while after[sentinel] == sentinel:
        sentinel += 1
    lowest[0] = sentinel - state.queues
    slot = pop_first(state.links, sentinel)
    state.hits[slot] = 0
    return slot


def on_free(state: LfuState, pool: Pool, blocks: int) -> None:
    """Append each to its list, neighbours of equal counts in one piece, the tail of the prompt first."""
    table, counts = pool.table, state.hits
    stop = blocks
    while stop > 0:
        hits = counts[table[stop - 1]]
        start = stop - 1
        while start > 0 and counts[table[start - 1]] == hits:
            start -= 1
        append_table(state.links, state.queues + hits, table, start, stop)
        state.lowest[0] = min(state.lowest[0], hits)
        stop = start


def check(state: LfuState, pool: Pool, held: npt.NDArray[np.int64]) -> int:
    """1: a list's links are broken. 2: a slot is in another count's list. 3: a list below has slots."""
    for hits in range(MOST_HITS + 1):
        sentinel = state.queues + hits
        if not count_nodes(state.links, sentinel, held):
            return 1
        slot = state.links.after[sentinel]
        if slot != sentinel and hits < state.lowest[0]:
            return 3
        while slot != sentinel:
            if state.hits[slot] != hits:
                return 2
            slot = state.links.after[slot]
    return 0


KERNEL = PolicyKernel(new_state, on_hits, pop_victim, on_free, check)
