"""The replay loop, written once: compiled anew for each policy with its operations put in.

It does what ``_Replayer`` of ``cache/replay.py`` does, with the reference pool's rules, event for event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm.cache.kernels.bitmap import floor_log2
from keepwarm.cache.kernels.operations import (
    State,
    check,
    on_admit,
    on_allocate,
    on_cache,
    on_evict,
    on_free,
    on_hits,
    on_start,
    pop_victim,
)
from keepwarm.cache.kernels.pool import (
    ALLOCATED,
    EVENTS,
    FRESH,
    NEVER_CACHED,
    NO_SLOT,
    SPARE,
    UNKNOWN,
    Pool,
    Requests,
    asked_blocks,
    blank_slots,
    computed_tokens,
    forget_content,
    look_up,
    set_content,
)

CHECKED = False  # compiled in: whether the structure is checked after each request
FAULTS = 64  # above every fault number


class Outcome(NamedTuple):
    """What a replay fills in; see ``KernelRun``. ``evicted_ids`` is empty if events are not recorded."""

    hit_blocks: npt.NDArray[np.int32]
    evicted_blocks: npt.NDArray[np.int32]
    too_large: npt.NDArray[np.bool_]
    requested_again_blocks: npt.NDArray[np.int32]
    reuse_gaps_log2: npt.NDArray[np.int64]
    evicted_ids: npt.NDArray[np.int64]


def replay_requests(
    requests: Requests,
    pool: Pool,
    state: State,
    outcome: Outcome,
    held: npt.NDArray[np.int64],
    first: int,
    last: int,
) -> int:
    """Serve requests ``first`` to ``last - 1``. 0, or request index * FAULTS + fault where a check failed.

    ``held`` is scratch for the checks, an entry a slot.
    """
    if first == 0:
        on_start(state, pool, requests)
    for index in range(first, last):
        serve(requests, pool, state, outcome, index)
        if CHECKED:
            fault = check_structure(pool, state, held)
            if fault:
                return index * FAULTS + fault
    return 0


def serve(requests: Requests, pool: Pool, state: State, outcome: Outcome, index: int) -> None:
    """Admit, prefill, decode and free. The prompt is allocated at once, the answer block by block."""
    block_size = requests.block_size
    prompt_tokens = requests.prompt_tokens[index]
    prompt_blocks = (prompt_tokens + block_size - 1) // block_size
    if prompt_blocks > pool.capacity_blocks:
        outcome.too_large[index] = True
        return
    events = pool.counters[EVENTS]
    ids = requests.ids[requests.starts[index] : requests.starts[index + 1]]
    asked = asked_blocks(requests, pool, index)
    hits = look_up(pool, ids, asked)
    outcome.requested_again_blocks[index] = count_lost(pool, ids, hits, asked, outcome.reuse_gaps_log2)
    hits -= hits % pool.match_unit_blocks
    on_admit(state, pool, requests, index, hits)
    on_hits(state, pool, hits)

    tokens = computed_tokens(requests, pool, index)
    full = tokens // block_size
    ids = ids[: min(len(ids), full)]
    start, blocks, last = hits, prompt_blocks, (tokens + block_size - 1) // block_size
    while True:
        allocate(pool, state, start, blocks, outcome.evicted_ids)
        cache(pool, state, ids, min(start, full), full if blocks == last else blocks)
        if blocks == last:
            break
        start, blocks = blocks, blocks + 1
    if tokens > full * block_size:
        pool.counters[SPARE] = pool.table[full]
    on_free(state, pool, full)
    outcome.hit_blocks[index] = hits
    outcome.evicted_blocks[index] = pool.counters[EVENTS] - events


def count_lost(
    pool: Pool, ids: npt.NDArray[np.int32], start: int, stop: int, gaps_log2: npt.NDArray[np.int64]
) -> int:
    """How many of ``ids[start:stop]`` were cached once and are not now; files how long ago they were lost."""
    lost = 0
    places = pool.places
    time = pool.counters[ALLOCATED]
    for index in range(start, stop):
        place = places[ids[index]]
        if place < NEVER_CACHED:
            lost += 1
            gaps_log2[floor_log2(time + place + 2)] += 1
    return lost


def allocate(pool: Pool, state: State, start: int, stop: int, evicted_ids: npt.NDArray[np.int64]) -> None:
    """Fill ``pool.table[start:stop]``: blank slots first, then victims."""
    if start == stop:
        return
    counters, table = pool.counters, pool.table
    on_allocate(state, pool, stop - start, blank_slots(pool))
    time = counters[ALLOCATED] - start
    counters[ALLOCATED] = time + stop
    if counters[SPARE] != NO_SLOT:
        table[start] = counters[SPARE]
        counters[SPARE] = NO_SLOT
        start += 1
    fresh = min(stop - start, pool.capacity_blocks - counters[FRESH])
    for index in range(start, start + fresh):
        table[index] = counters[FRESH]
        counters[FRESH] += 1
    for index in range(start + fresh, stop):
        slot = pop_victim(state, pool)
        content = forget_content(pool, slot, time + index)
        on_evict(state, pool, slot, content)
        table[index] = slot
        if len(evicted_ids):
            evicted_ids[counters[EVENTS]] = content
        counters[EVENTS] += 1


def cache(pool: Pool, state: State, ids: npt.NDArray[np.int32], start: int, stop: int) -> None:
    """Let look-ups find ``pool.table[start:stop]``; contents that ``ids`` do not tell get new numbers."""
    if start == stop:
        return
    counters, table = pool.counters, pool.table
    known = min(max(start, len(ids)), stop)
    for index in range(start, known):
        set_content(pool, table[index], ids[index])
    for index in range(known, stop):
        set_content(pool, table[index], -1 - counters[UNKNOWN])
        counters[UNKNOWN] += 1
    on_cache(state, pool, start, stop)


def check_structure(pool: Pool, state: State, held: npt.NDArray[np.int64]) -> int:
    """0, or which invariant fails between two requests: those of the policy from 1, of the pool from 32.

    32: a slot with content is not held once, or a blank one is held. 33: a place does not lead to its
    content. 34: a slot is not in the ring of its content's oldest slot, or the ring is not in one piece.
    """
    counters = pool.counters
    held[:] = 0
    fault = check(state, pool, held)
    if fault:
        return fault
    for slot in range(pool.capacity_blocks):
        if held[slot] != (slot < counters[FRESH] and slot != counters[SPARE]):
            return 32
    for content in range(len(pool.places)):
        place = pool.places[content]
        if place >= 0 and (held[place] != 1 or pool.contents[place] != content):
            return 33
        held[max(0, place)] += place >= 0
    return check_rings(pool, held)


def check_rings(pool: Pool, held: npt.NDArray[np.int64]) -> int:
    """34 if a ring of twins is broken; ``held`` is 2 for the oldest slot of each content."""
    for slot in range(pool.capacity_blocks):
        if not held[slot]:
            continue
        following = pool.next_twin[slot]
        if following != slot and pool.previous_twin[following] != slot:
            return 34
        if pool.contents[following] != pool.contents[slot]:
            return 34
        steps = 0
        while pool.contents[slot] >= 0 and held[following] != 2:
            following = pool.next_twin[following]
            steps += 1
            if steps > pool.capacity_blocks:
                return 34
        if pool.contents[slot] >= 0 and pool.places[pool.contents[slot]] != following:
            return 34
    return 0
