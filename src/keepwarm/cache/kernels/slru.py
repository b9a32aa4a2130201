"""The kernel of ``policies/slru.py``: two lists, probation and protected.

With one request at a time the blocks that were hit are the first of its table. So the new ones join
probation in one piece, the hit ones join the protected in one piece, and what overflows follows.
"""

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
from keepwarm.policies.slru import protected_limit_blocks

HITS = 0  # counter: blocks that the request hit
PROTECTED = 1  # counter: length of the protected list


class SlruState(NamedTuple):
    """The lists; ``is_protected`` says of each free slot in which one it is."""

    links: Links
    probation: int
    protected: int
    limit: int
    is_protected: npt.NDArray[np.bool_]
    counters: npt.NDArray[np.int64]


def new_state(setup: Setup) -> SlruState:
    """Empty lists."""
    return SlruState(
        new_links(setup.slots, 2),
        setup.slots,
        setup.slots + 1,
        protected_limit_blocks(setup.slots),
        np.zeros(setup.slots, dtype=np.bool_),
        np.zeros(2, dtype=np.int64),
    )


def on_hits(state: SlruState, pool: Pool, hits: int) -> None:
    """Take them out; they come back protected."""
    table, is_protected = pool.table, state.is_protected
    protected = 0
    for index in range(hits):
        slot = table[index]
        protected += is_protected[slot]
        is_protected[slot] = False
    unlink_table(state.links, table, hits)
    state.counters[PROTECTED] -= protected
    state.counters[HITS] = hits


def pop_victim(state: SlruState, pool: Pool) -> int:
    """Take the head of probation, of the protected only if there is none."""
    if state.links.after[state.probation] != state.probation:
        return pop_first(state.links, state.probation)
    slot = pop_first(state.links, state.protected)
    state.is_protected[slot] = False
    state.counters[PROTECTED] -= 1
    return slot


def on_free(state: SlruState, pool: Pool, blocks: int) -> None:
    """New blocks first, as they are the tail; then those hit, then those that must make room for them."""
    links, table, is_protected = state.links, pool.table, state.is_protected
    hits = state.counters[HITS]
    append_table(links, state.probation, table, hits, blocks)
    append_table(links, state.protected, table, 0, hits)
    for index in range(hits):
        is_protected[table[index]] = True
    protected = state.counters[PROTECTED] + hits
    demoted = max(0, protected - state.limit)
    state.counters[PROTECTED] = protected - demoted
    move_firsts(state, demoted)


def move_firsts(state: SlruState, demoted: int) -> None:
    """Move so many from the head of the protected to the end of probation, in one piece."""
    if demoted == 0:
        return
    after, before = state.links.after, state.links.before
    first = last = after[state.protected]
    state.is_protected[first] = False
    for _ in range(demoted - 1):
        last = after[last]
        state.is_protected[last] = False
    behind = after[last]
    after[state.protected] = behind
    before[behind] = state.protected
    ahead = before[state.probation]
    after[ahead] = first
    before[first] = ahead
    after[last] = state.probation
    before[state.probation] = last


def check(state: SlruState, pool: Pool, held: npt.NDArray[np.int64]) -> int:
    """1: a list's links are broken. 2: a slot is in the other list. 3: the protected are miscounted."""
    if not count_nodes(state.links, state.probation, held):
        return 1
    for slot in range(len(held)):
        if held[slot] and state.is_protected[slot]:
            return 2
    if not count_nodes(state.links, state.protected, held):
        return 1
    if state.is_protected.sum() != state.counters[PROTECTED] or state.counters[PROTECTED] > state.limit:
        return 3
    return 0


KERNEL = PolicyKernel(new_state, on_hits, pop_victim, on_free, check)
