"""The kernel of ``policies/computecache_window.py``: the LRU queue, and a ranked window at its head."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm.cache.kernels.lists import (
    Links,
    append_table,
    count_nodes,
    insert_before,
    new_links,
    pop_first,
    unlink,
    unlink_table,
)
from keepwarm.cache.kernels.operations import PolicyKernel, Setup
from keepwarm.cache.kernels.pool import Pool
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
from keepwarm.policies.computecache_window import WINDOW_SCAN_LIMIT


class WindowState(NamedTuple):
    """The queue, and the node that is both of its ends; ``scan_limit`` is 0 in mode ``lru``."""

    links: Links
    queue: int
    scan_limit: int
    uses: Uses
    window: Window


def new_state(setup: Setup, *, mode: str = "active", scan_limit: int = WINDOW_SCAN_LIMIT) -> WindowState:
    """An empty queue. A replay has no watched blocks."""
    seen = scan_limit if mode == "active" else 0
    return WindowState(
        new_links(setup.slots, 1), setup.slots, seen, new_uses(setup.slots, 0), new_window(seen)
    )


def on_hits(state: WindowState, pool: Pool, hits: int) -> None:
    """Count them and take them out; they come back at the end."""
    note_hits(state.uses, pool.table, hits)
    unlink_table(state.links, pool.table, hits)


def on_allocate(state: WindowState, pool: Pool, new_blocks: int, blank_blocks: int) -> None:
    """Bring the victims-to-be to the front, lowest keep value first."""
    victims = new_blocks - blank_blocks
    if victims <= 0:
        return
    links, window = state.links, state.window
    ranked = 0
    slot = links.after[state.queue]
    while ranked < state.scan_limit - blank_blocks and slot != state.queue:
        insert_ranked(window, ranked, slot, keep_value(state.uses, slot))
        ranked += 1
        slot = links.after[slot]
    for index in range(max(0, ranked - victims), ranked):
        unlink(links, window.slots[index])
        insert_before(links, links.after[state.queue], window.slots[index])


def pop_victim(state: WindowState, pool: Pool) -> int:
    """Take the head."""
    return pop_first(state.links, state.queue)


def on_cache(state: WindowState, pool: Pool, start: int, stop: int) -> None:
    """Their ages count from here, their hits from 0."""
    note_cached(state.uses, pool.table, start, stop)


def on_free(state: WindowState, pool: Pool, blocks: int) -> None:
    """Append, the tail of the prompt first."""
    append_table(state.links, state.queue, pool.table, 0, blocks)


def check(state: WindowState, pool: Pool, held: npt.NDArray[np.int64]) -> int:
    """1: the queue's links are broken."""
    return 0 if count_nodes(state.links, state.queue, held) else 1


KERNEL = PolicyKernel(
    new_state, on_hits, pop_victim, on_free, check, on_allocate=on_allocate, on_cache=on_cache
)
