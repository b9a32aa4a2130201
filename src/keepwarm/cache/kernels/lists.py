"""Doubly linked lists of slots in two arrays, each list a ring through its own sentinel.

An array has an entry for each slot and, behind them, one for each sentinel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Links(NamedTuple):
    """``after[node]`` is the node behind it, ``before[node]`` the one in front of it."""

    after: npt.NDArray[np.int32]
    before: npt.NDArray[np.int32]


def new_links(slots: int, lists: int) -> Links:
    """Empty lists; the sentinel of list ``i`` is node ``slots + i``."""
    return Links(np.arange(slots + lists, dtype=np.int32), np.arange(slots + lists, dtype=np.int32))


def unlink(links: Links, slot: int) -> None:
    """Take one slot out of its list."""
    before, after = links.before[slot], links.after[slot]
    links.after[before] = after
    links.before[after] = before


def unlink_table(links: Links, table: npt.NDArray[np.int32], blocks: int) -> None:
    """Take ``table[:blocks]`` out of their lists."""
    for index in range(blocks):
        unlink(links, table[index])


def append(links: Links, sentinel: int, slot: int) -> None:
    """Put a slot at the end of a list."""
    insert_before(links, sentinel, slot)


def insert_before(links: Links, node: int, slot: int) -> None:
    """Put a slot in front of a node of any list."""
    before = links.before[node]
    links.after[before] = slot
    links.before[slot] = before
    links.after[slot] = node
    links.before[node] = slot


def append_table(links: Links, sentinel: int, table: npt.NDArray[np.int32], start: int, stop: int) -> None:
    """Put ``table[start:stop]`` at the end of a list, last one first."""
    if start == stop:
        return
    after, before = links.after, links.before
    last = before[sentinel]
    for index in range(stop - 1, start - 1, -1):
        slot = table[index]
        after[last] = slot
        before[slot] = last
        last = slot
    after[last] = sentinel
    before[sentinel] = last


def pop_first(links: Links, sentinel: int) -> int:
    """Take the first slot out of a list that is not empty."""
    slot = int(links.after[sentinel])
    behind = links.after[slot]
    links.after[sentinel] = behind
    links.before[behind] = sentinel
    return slot


def count_nodes(links: Links, sentinel: int, held: npt.NDArray[np.int64]) -> bool:
    """Count each slot of a list in ``held``; False if the links contradict each other."""
    node = sentinel
    for _ in range(len(held) + 1):
        behind = links.after[node]
        if links.before[behind] != node:
            return False
        if behind == sentinel:
            return True
        held[behind] += 1
        node = behind
    return False
