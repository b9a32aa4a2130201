"""The kernel of ``policies/s3fifo.py``: two rings, and for each content when it was put into the ghost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm.cache.kernels.operations import PolicyKernel, Setup
from keepwarm.cache.kernels.pool import Pool
from keepwarm.cache.kernels.rings import Rings, new_rings, pop, push, slot_at
from keepwarm.policies.s3fifo import MOST_HITS, main_limit_blocks

# The rings.
SMALL = 0
MAIN = 1

# What is known of a slot: hits in the lowest bits, and these.
HITS = MOST_HITS
FREE = 4
PLACED = 8  # it is in a ring
OF_MAIN = 16  # in main's ring, or in use and joins it

OF_MAIN_BLOCKS = 0  # counter
PUT_IN = 1  # counter: contents put into the ghost
NEVER = -(2**62)


class S3FifoState(NamedTuple):
    """``put_in[content]`` is the counter when it was last put in, ``NEVER`` if not, or recalled since."""

    rings: Rings
    main_limit: int
    standing: npt.NDArray[np.uint8]  # of each slot, bits
    put_in: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]


def new_state(setup: Setup) -> S3FifoState:
    """Empty rings and an empty ghost."""
    return S3FifoState(
        new_rings(setup.slots, 2),
        main_limit_blocks(setup.slots),
        np.zeros(setup.slots, dtype=np.uint8),
        np.full(setup.distinct_blocks, NEVER, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )


def on_hits(state: S3FifoState, pool: Pool, hits: int) -> None:
    """Count them; they keep their places."""
    table, standing = pool.table, state.standing
    for index in range(hits):
        slot = table[index]
        found = standing[slot] & ~FREE
        standing[slot] = found + ((found & HITS) < MOST_HITS)


def on_cache(state: S3FifoState, pool: Pool, start: int, stop: int) -> None:
    """Slots whose content was evicted lately belong to main."""
    oldest = state.counters[PUT_IN] - state.main_limit
    for index in range(start, stop):
        slot = pool.table[index]
        content = pool.contents[slot]
        if content >= 0 and state.put_in[content] >= oldest:
            state.put_in[content] = NEVER
            state.standing[slot] |= OF_MAIN
            state.counters[OF_MAIN_BLOCKS] += 1


def pop_victim(state: S3FifoState, pool: Pool) -> int:
    """Look at one head after the other until a slot falls out."""
    lengths = state.rings.lengths
    while True:
        main_turn = state.counters[OF_MAIN_BLOCKS] > state.main_limit
        if lengths[MAIN] and (main_turn or not lengths[SMALL]):
            slot = look_at_main(state)
        else:
            slot = look_at_small(state, pool)
        if slot >= 0:
            return slot


def look_at_small(state: S3FifoState, pool: Pool) -> int:
    """The victim, or -1 if the head moved on."""
    standing, counters = state.standing, state.counters
    slot = pop(state.rings, SMALL)
    is_free = standing[slot] & FREE
    if is_free and standing[slot] & HITS <= 1:
        standing[slot] = 0
        content = pool.contents[slot]
        if content >= 0:
            state.put_in[content] = counters[PUT_IN]
        counters[PUT_IN] += 1
        return slot
    counters[OF_MAIN_BLOCKS] += 1
    standing[slot] = OF_MAIN
    if is_free:
        standing[slot] = OF_MAIN | PLACED | FREE
        push(state.rings, MAIN, slot)
    return -1


def look_at_main(state: S3FifoState) -> int:
    """The victim, or -1 if the head moved on."""
    standing = state.standing
    slot = pop(state.rings, MAIN)
    is_free, hits = standing[slot] & FREE, standing[slot] & HITS
    if is_free and hits == 0:
        standing[slot] = 0
        state.counters[OF_MAIN_BLOCKS] -= 1
        return slot
    standing[slot] -= hits > 0
    if is_free:
        push(state.rings, MAIN, slot)
    else:
        standing[slot] &= ~PLACED
    return -1


def on_free(state: S3FifoState, pool: Pool, blocks: int) -> None:
    """Those that kept their places are free in them; the others join their queues, last one first."""
    table, standing = pool.table, state.standing
    for index in range(blocks - 1, -1, -1):
        slot = table[index]
        if not standing[slot] & PLACED:
            push(state.rings, MAIN if standing[slot] & OF_MAIN else SMALL, slot)
        standing[slot] |= PLACED | FREE


def check(state: S3FifoState, pool: Pool, held: npt.NDArray[np.int64]) -> int:
    """1: a slot in a ring is not marked so, or is in the other's. 2: one is not in a ring. 3: miscounted."""
    for queue in range(2):
        for index in range(state.rings.lengths[queue]):
            slot = slot_at(state.rings, queue, index)
            found = state.standing[slot]
            if not found & PLACED or (found & OF_MAIN != 0) != (queue == MAIN):
                return 1
            held[slot] += (found & FREE) != 0
    of_main = 0
    for slot in range(len(held)):
        if state.standing[slot] and not held[slot]:
            return 2
        of_main += (state.standing[slot] & OF_MAIN) != 0
    return 0 if of_main == state.counters[OF_MAIN_BLOCKS] else 3


KERNEL = PolicyKernel(new_state, on_hits, pop_victim, on_free, check, on_cache=on_cache)
