"""The kernel of ``policies/sieve.py``: the queue, cut at the hand into two rings that change roles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm.cache.kernels.operations import PolicyKernel, Setup
from keepwarm.cache.kernels.pool import Pool
from keepwarm.cache.kernels.rings import Rings, new_rings, pop, push, slot_at

# What is known of a slot, as bits.
PLACED = 1  # it is in a ring
VISITED = 2
FREE = 4


class SieveState(NamedTuple):
    """``ahead[0]`` is the ring ahead of the hand, the other one is what it passed."""

    rings: Rings
    ahead: npt.NDArray[np.int64]
    standing: npt.NDArray[np.uint8]  # of each slot, bits


def new_state(setup: Setup) -> SieveState:
    """An empty queue."""
    return SieveState(
        new_rings(setup.slots, 2), np.zeros(1, dtype=np.int64), np.zeros(setup.slots, dtype=np.uint8)
    )


def on_hits(state: SieveState, pool: Pool, hits: int) -> None:
    """Mark them; they keep their places."""
    table, standing = pool.table, state.standing
    for index in range(hits):
        standing[table[index]] = PLACED | VISITED


def pop_victim(state: SieveState, pool: Pool) -> int:
    """Move the hand to the first free slot that is not visited, and take it."""
    rings, standing = state.rings, state.standing
    while True:
        ahead = state.ahead[0]
        slot = pop(rings, ahead)
        found = standing[slot]
        if found == PLACED | VISITED | FREE:
            standing[slot] = PLACED | FREE
            push(rings, 1 - ahead, slot)
        else:
            standing[slot] = 0
        if rings.lengths[ahead] == 0:
            state.ahead[0] = 1 - ahead
        if found == PLACED | FREE:
            return slot


def on_free(state: SieveState, pool: Pool, blocks: int) -> None:
    """Those that kept their places are free in them; the others are the newest, last one first."""
    table, standing = pool.table, state.standing
    for index in range(blocks - 1, -1, -1):
        slot = table[index]
        if not standing[slot] & PLACED:
            push(state.rings, state.ahead[0], slot)
        standing[slot] |= PLACED | FREE


def check(state: SieveState, pool: Pool, held: npt.NDArray[np.int64]) -> int:
    """1: a slot in a ring is not marked so. 2: the hand is not where it belongs. 3: one is not in a ring."""
    for queue in range(2):
        for index in range(state.rings.lengths[queue]):
            slot = slot_at(state.rings, queue, index)
            if not state.standing[slot] & PLACED:
                return 1
            held[slot] += (state.standing[slot] & FREE) != 0
    ahead = state.ahead[0]
    if state.rings.lengths[ahead] == 0 and state.rings.lengths[1 - ahead] > 0:
        return 2
    for slot in range(len(held)):
        if state.standing[slot] and not held[slot]:
            return 3
    return 0


KERNEL = PolicyKernel(new_state, on_hits, pop_victim, on_free, check)
