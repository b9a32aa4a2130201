"""Queues of slots in ring buffers, for policies that never take a slot out of the middle."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Rings(NamedTuple):
    """Queue ``q`` is the ``lengths[q]`` entries of ``slots[q]`` from ``heads[q]`` on, around the end."""

    slots: npt.NDArray[np.int32]  # shape: queues, capacity in blocks
    heads: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]


def new_rings(capacity_blocks: int, queues: int) -> Rings:
    """Empty queues, each with room for all slots."""
    return Rings(
        np.zeros((queues, capacity_blocks), dtype=np.int32),
        np.zeros(queues, dtype=np.int64),
        np.zeros(queues, dtype=np.int64),
    )


def push(rings: Rings, queue: int, slot: int) -> None:
    """Put a slot at the end of a queue."""
    at = rings.heads[queue] + rings.lengths[queue]
    capacity_blocks = rings.slots.shape[1]
    rings.slots[queue, at - capacity_blocks if at >= capacity_blocks else at] = slot
    rings.lengths[queue] += 1


def pop(rings: Rings, queue: int) -> int:
    """Take the first slot out of a queue that is not empty."""
    at = rings.heads[queue]
    rings.heads[queue] = 0 if at + 1 == rings.slots.shape[1] else at + 1
    rings.lengths[queue] -= 1
    return int(rings.slots[queue, at])


def slot_at(rings: Rings, queue: int, index: int) -> int:
    """The slot at a place of a queue, 0 the first."""
    return int(rings.slots[queue, (rings.heads[queue] + index) % rings.slots.shape[1]])
