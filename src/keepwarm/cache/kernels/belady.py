"""The kernel of ``policies/belady.py``: a queue for each place in the order, and a bitmap of those in use.

Blocks that the same request hits next lie on one chain of prefixes and come back deepest first, which is the
order they leave in: queue ``r`` holds those next hit by request ``r``. Blocks that are never hit again have a
queue for each depth. A second bank of queues, above the first, is for duplicates and what is computed again.
So the next victim is the head of the highest queue that is not empty. A block that comes back late (its
request did not hit it, or it gained or lost a twin) is put in by its depth and release, from the end of
its queue.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm.cache.kernels.bitmap import Bitmap, add_member, largest_member, new_bitmap, remove_member
from keepwarm.cache.kernels.lists import (
    Links,
    count_nodes,
    insert_before,
    new_links,
    pop_first,
    unlink,
    unlink_table,
)
from keepwarm.cache.kernels.operations import PolicyKernel, Setup
from keepwarm.cache.kernels.pool import Pool, Requests, asked_blocks, computed_tokens, has_twin

# Where the counters of a state are.
USED = 0  # blocks at the start of the table that are in use and have content
STORED = 1  # blocks of known content that the request being served has cached in the end
START = 2  # where its ids are
FREED = 3  # requests that were freed
TOP = 4  # no queue above is in use
COUNTERS = 5


class BeladyState(NamedTuple):
    """``next_hit[id]`` is the next request with that content; ``requests`` if none has it, or it looks not.

    ``following_hit[position]`` is that for the time after the request that has the id at ``position`` of all
    ``ids``. Of slots there are ``depths`` and ``releases``, when they were freed.
    """

    slots: int
    requests: int
    bank: int  # queues in each of the two banks
    ids: npt.NDArray[np.int32]
    next_hit: npt.NDArray[np.int32]
    following_hit: npt.NDArray[np.int32]
    depths: npt.NDArray[np.int32]
    releases: npt.NDArray[np.int32]
    links: Links
    used_queues: Bitmap
    counters: npt.NDArray[np.int64]


def new_state(setup: Setup) -> BeladyState:
    """Nothing is held; the uses are filled in by ``on_start``."""
    requests = len(setup.requests.prompt_tokens)
    bank = requests + setup.table_blocks
    return BeladyState(
        setup.slots,
        requests,
        bank,
        setup.requests.ids,
        np.full(setup.distinct_blocks, requests, dtype=np.int32),
        np.empty(len(setup.requests.ids), dtype=np.int32),
        np.zeros(setup.slots, dtype=np.int32),
        np.zeros(setup.slots, dtype=np.int32),
        new_links(setup.slots, 2 * bank),
        new_bitmap(2 * bank),
        np.zeros(COUNTERS, dtype=np.int64),
    )


def on_start(state: BeladyState, pool: Pool, requests: Requests) -> None:
    """Go through all requests from the end: when is a content next hit?"""
    next_hit, following_hit = state.next_hit, state.following_hit
    for index in range(state.requests - 1, -1, -1):
        start = requests.starts[index]
        stored = start + stored_blocks(requests, pool, index)
        asked = start + asked_blocks(requests, pool, index)
        for position in range(start, stored):
            content = requests.ids[position]
            following_hit[position] = next_hit[content]
            next_hit[content] = index if position < asked else state.requests


def on_admit(state: BeladyState, pool: Pool, requests: Requests, index: int, hits: int) -> None:
    """These uses are over. What is held of them and not hit is computed again."""
    start = requests.starts[index]
    stored = stored_blocks(requests, pool, index)
    counters = state.counters
    counters[START], counters[USED], counters[STORED] = start, hits, stored
    for position in range(start, start + stored):
        content = requests.ids[position]
        state.next_hit[content] = state.following_hit[position]
        oldest = pool.places[content]
        if oldest < 0:
            continue
        if position - start >= hits:
            place_again(state, pool, oldest)
        twin = pool.next_twin[oldest]
        while twin != oldest:
            place_again(state, pool, twin)
            twin = pool.next_twin[twin]


def on_hits(state: BeladyState, pool: Pool, hits: int) -> None:
    """Take them out of whatever queue they are in."""
    unlink_table(state.links, pool.table, hits)


def pop_victim(state: BeladyState, pool: Pool) -> int:
    """Take the head of the highest queue."""
    counters, after = state.counters, state.links.after
    while True:
        sentinel = state.slots + counters[TOP]
        if after[sentinel] != sentinel:
            return pop_first(state.links, sentinel)
        remove_member(state.used_queues, counters[TOP])
        counters[TOP] = largest_member(state.used_queues, counters[TOP])


def on_evict(state: BeladyState, pool: Pool, slot: int, content: int) -> None:
    """A last copy, if it is free, is a duplicate no more."""
    if content < 0:
        return
    last = pool.places[content]
    if last >= 0 and not has_twin(pool, last):
        index = state.depths[last] - 1
        if index >= state.counters[USED] or pool.table[index] != last:
            place_again(state, pool, last)


def on_cache(state: BeladyState, pool: Pool, start: int, stop: int) -> None:
    """Note their depths. Slots with the same contents were put among the duplicates by ``on_admit``."""
    state.counters[USED] = stop
    for index in range(start, stop):
        state.depths[pool.table[index]] = index + 1


def on_free(state: BeladyState, pool: Pool, blocks: int) -> None:
    """Place each by its next use."""
    counters = state.counters
    counters[USED] = counters[STORED] = 0
    counters[FREED] += 1
    for index in range(blocks - 1, -1, -1):
        slot = pool.table[index]
        state.releases[slot] = counters[FREED]
        place(state, pool, slot)


def place_again(state: BeladyState, pool: Pool, slot: int) -> None:
    """Move a free slot to where it belongs now."""
    unlink(state.links, slot)
    place(state, pool, slot)


def place(state: BeladyState, pool: Pool, slot: int) -> None:
    """Put a slot into its queue, normally at the end."""
    queue = queue_of(state, pool, slot)
    depth, release = state.depths[slot], state.releases[slot]
    sentinel = state.slots + queue
    node = state.links.before[sentinel]
    if node == sentinel:
        add_member(state.used_queues, queue)
        state.counters[TOP] = max(state.counters[TOP], queue)
    while node != sentinel and goes_before(state, depth, release, node):
        node = state.links.before[node]
    insert_before(state.links, state.links.after[node], slot)


def goes_before(state: BeladyState, depth: int, release: int, node: int) -> bool:
    """Whether a block of that depth and release leaves a queue before one that is in it."""
    other = state.depths[node]
    return bool(depth > other or (depth == other and release < state.releases[node]))


def queue_of(state: BeladyState, pool: Pool, slot: int) -> int:
    """Which queue a free slot belongs to."""
    content = pool.contents[slot]
    index = state.depths[slot] - 1
    queue = int(state.next_hit[content]) if content >= 0 else state.requests
    if queue == state.requests:
        queue += index
    return queue + state.bank if has_twin(pool, slot) or is_of_this_request(state, content, index) else queue


def is_of_this_request(state: BeladyState, content: int, index: int) -> bool:
    """Whether the request being served has a content, at its ``index`` of a request: now, or in the end."""
    counters = state.counters
    return bool(index < counters[STORED] and state.ids[counters[START] + index] == content)


def stored_blocks(requests: Requests, pool: Pool, index: int) -> int:
    """How many blocks of known content a request has cached in the end; 0 if it is too large."""
    if requests.prompt_tokens[index] > pool.capacity_blocks * requests.block_size:
        return 0
    known = requests.starts[index + 1] - requests.starts[index]
    return int(min(known, computed_tokens(requests, pool, index) // requests.block_size))


def check(state: BeladyState, pool: Pool, held: npt.NDArray[np.int64]) -> int:
    """1: broken links. 2: a wrong queue. 3: a wrong order in it. 4: a queue that is used and not marked."""
    for queue in range(2 * state.bank):
        sentinel = state.slots + queue
        if not count_nodes(state.links, sentinel, held):
            return 1
        node = state.links.after[sentinel]
        if node != sentinel and (
            queue > state.counters[TOP] or not state.used_queues.words[queue >> 5] >> (queue & 31) & 1
        ):
            return 4
        while node != sentinel:
            if queue_of(state, pool, node) != queue:
                return 2
            behind = state.links.after[node]
            if behind != sentinel and goes_before(state, state.depths[behind], state.releases[behind], node):
                return 3
            node = behind
    return 0


KERNEL = PolicyKernel(
    new_state,
    on_hits,
    pop_victim,
    on_free,
    check,
    on_start=on_start,
    on_admit=on_admit,
    on_evict=on_evict,
    on_cache=on_cache,
)
