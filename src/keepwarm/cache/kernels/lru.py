"""The kernel of ``policies/lru.py``: one list, from the slot free for the longest time on."""

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


class LruState(NamedTuple):
    """The queue, and the node that is both of its ends."""

    links: Links
    queue: int


def new_state(setup: Setup) -> LruState:
    """An empty queue."""
    return LruState(new_links(setup.slots, 1), setup.slots)


def on_hits(state: LruState, pool: Pool, hits: int) -> None:
    """Take them out; they come back at the end."""
    unlink_table(state.links, pool.table, hits)


def pop_victim(state: LruState, pool: Pool) -> int:
    """Take the head."""
    return pop_first(state.links, state.queue)


def on_free(state: LruState, pool: Pool, blocks: int) -> None:
    """Append, the tail of the prompt first."""
    append_table(state.links, state.queue, pool.table, 0, blocks)


def check(state: LruState, pool: Pool, held: npt.NDArray[np.int64]) -> int:
    """1: the queue's links are broken."""
    return 0 if count_nodes(state.links, state.queue, held) else 1


KERNEL = PolicyKernel(new_state, on_hits, pop_victim, on_free, check)
