"""The kernel of ``policies/computecache.py``: probation and the protected part as two lists.

One request at a time, so the blocks of a request that were hit are those it hit itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm.cache.kernels.lists import (
    Links,
    append,
    append_table,
    count_nodes,
    new_links,
    pop_first,
    unlink,
    unlink_table,
)
from keepwarm.cache.kernels.operations import PolicyKernel, Setup
from keepwarm.cache.kernels.pool import ALLOCATED, Pool
from keepwarm.cache.kernels.ranking import (
    Uses,
    Window,
    insert_ranked,
    keep_value,
    new_uses,
    new_window,
    note_cached,
    note_hits,
)
from keepwarm.policies.computecache import (
    EXTRA_DEMOTIONS,
    LEAST_STALE_BLOCKS,
    PROTECTED_SHARE,
    SCAN_LIMIT,
    STALE_TURNOVERS,
    check_parameters,
)

# Where the counters are.
PROTECTED = 0  # slots in the protected list
HITS = 1  # of the request in service


class BoundaryState(NamedTuple):
    """Two lists by their sentinels; ``is_protected`` tells which one a free slot is in."""

    links: Links
    probation: int
    protected: int
    most_protected: int
    stale_blocks: float
    extra_demotions: int
    uses: Uses
    window: Window
    is_protected: npt.NDArray[np.bool_]
    allocated_at_hit: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]


def new_state(
    setup: Setup,
    *,
    protected_share: float = PROTECTED_SHARE,
    stale_turnovers: float = STALE_TURNOVERS,
    least_stale_blocks: int = LEAST_STALE_BLOCKS,
    scan_limit: int = SCAN_LIMIT,
    extra_demotions: int = EXTRA_DEMOTIONS,
    hits_decay: bool = False,
) -> BoundaryState:
    """Two empty lists. Raises ``ValueError`` as the class does."""
    check_parameters(protected_share, stale_turnovers, least_stale_blocks, scan_limit, extra_demotions)
    slots = setup.slots
    return BoundaryState(
        new_links(slots, 2),
        slots,
        slots + 1,
        int(protected_share * slots),
        float(max(stale_turnovers * slots, least_stale_blocks)),
        extra_demotions,
        new_uses(slots, slots if hits_decay else 0),
        new_window(scan_limit),
        np.zeros(slots, dtype=np.bool_),
        np.zeros(slots, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )


def on_hits(state: BoundaryState, pool: Pool, hits: int) -> None:
    """Count them and take them out."""
    table = pool.table
    allocated = pool.counters[ALLOCATED]
    left = 0
    for index in range(hits):
        slot = table[index]
        left += state.is_protected[slot]
        state.is_protected[slot] = True  # where it goes when it is freed
        state.allocated_at_hit[slot] = allocated
    state.counters[PROTECTED] -= left
    state.counters[HITS] = hits
    note_hits(state.uses, table, hits)
    unlink_table(state.links, table, hits)


def on_allocate(state: BoundaryState, pool: Pool, new_blocks: int, blank_blocks: int) -> None:
    """Move the boundary: first for stale blocks, then for the share; bounded by the blocks asked for."""
    stale_from = pool.counters[ALLOCATED] + new_blocks - state.stale_blocks
    left = new_blocks + state.extra_demotions
    first = state.links.after[state.protected]
    while left > 0 and first != state.protected and state.allocated_at_hit[first] <= stale_from:
        demote(state, first)
        left -= 1
        first = state.links.after[state.protected]
    count = min(left, state.counters[PROTECTED] - state.most_protected)
    if count > 0:
        demote_lowest(state, count)


def demote(state: BoundaryState, slot: int) -> None:
    """Place a protected slot just before the boundary."""
    unlink(state.links, slot)
    append(state.links, state.probation, slot)
    state.is_protected[slot] = False
    state.counters[PROTECTED] -= 1


def demote_lowest(state: BoundaryState, count: int) -> None:
    """Demote the lowest of the first ``scan_limit``, ``count`` times over."""
    after, window = state.links.after, state.window
    following = after[state.protected]
    ranked = 0
    for _ in range(count):
        while ranked < len(window.slots) and following != state.protected:
            insert_ranked(window, ranked, following, keep_value(state.uses, following))
            ranked += 1
            following = after[following]
        ranked -= 1
        demote(state, window.slots[ranked])


def pop_victim(state: BoundaryState, pool: Pool) -> int:
    """Take the head: of probation, else of the protected part."""
    if state.links.after[state.probation] != state.probation:
        return pop_first(state.links, state.probation)
    slot = pop_first(state.links, state.protected)
    state.is_protected[slot] = False
    state.counters[PROTECTED] -= 1
    return slot


def on_cache(state: BoundaryState, pool: Pool, start: int, stop: int) -> None:
    """Their hits count from 0 again."""
    note_cached(state.uses, pool.table, start, stop)


def on_free(state: BoundaryState, pool: Pool, blocks: int) -> None:
    """Into the part that their hits say, the tail of the prompt first."""
    hits = state.counters[HITS]
    append_table(state.links, state.probation, pool.table, hits, blocks)
    append_table(state.links, state.protected, pool.table, 0, hits)
    state.counters[PROTECTED] += hits


def check(state: BoundaryState, pool: Pool, held: npt.NDArray[np.int64]) -> int:
    """1, 2: links of probation, of the protected part are broken; 3: a slot is in the wrong one."""
    if not count_nodes(state.links, state.probation, held):
        return 1
    for slot in range(len(held)):
        if held[slot] and state.is_protected[slot]:
            return 3
    on_probation = int(held.sum())
    if not count_nodes(state.links, state.protected, held):
        return 2
    return 0 if int(held.sum()) - on_probation == state.counters[PROTECTED] else 3


KERNEL = PolicyKernel(
    new_state, on_hits, pop_victim, on_free, check, on_allocate=on_allocate, on_cache=on_cache
)
