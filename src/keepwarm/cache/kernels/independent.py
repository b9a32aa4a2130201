"""Plain LRU over independent blocks, the model of general cache simulators: for comparing speed and hits.

No prefixes, no blocks in use: each block is an object of size one, read or else stored. Blocks are
the list's own nodes, so a hit touches one place in memory. Blocks read together stay neighbours, and a
stretch of them that is read again in the same order moves to the end in one piece.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from keepwarm.cache.kernels.compile import compiled

_ABSENT = -1


def run_independent_lru(ids: npt.NDArray[np.int32], capacity_blocks: int) -> int:
    """Hits of an LRU cache of ``capacity_blocks`` > 0 objects, ids from 0; O(1) a block, never raises."""
    ids = np.ascontiguousarray(ids, dtype=np.int32).view()
    ids.setflags(write=False)
    nodes = int(ids.max(initial=0)) + 2
    after = np.full(nodes, _ABSENT, dtype=np.int32)
    before = np.empty(nodes, dtype=np.int32)
    return int(_compiled_loop()(ids, capacity_blocks, after, before))


@cache
def _compiled_loop() -> Callable[..., int]:
    return compiled(independent_lru, {}, "plain")


def independent_lru(
    ids: npt.NDArray[np.int32],
    capacity_blocks: int,
    after: npt.NDArray[np.int32],
    before: npt.NDArray[np.int32],
) -> int:
    """The loop. The last node is the sentinel; ``after`` is ``_ABSENT`` for blocks not cached."""
    sentinel = len(after) - 1
    after[sentinel] = before[sentinel] = sentinel
    cached = hits = index = 0
    while index < len(ids):
        first = last = ids[index]
        behind = after[first]
        index += 1
        if behind >= 0:
            hits += 1
            while index < len(ids) and ids[index] == behind:
                last = behind
                behind = after[last]
                hits += 1
                index += 1
            ahead = before[first]
            after[ahead] = behind
            before[behind] = ahead
        elif cached < capacity_blocks:
            cached += 1
        else:
            victim = after[sentinel]
            after[sentinel] = after[victim]
            before[after[sentinel]] = sentinel
            after[victim] = _ABSENT
        ahead = before[sentinel]
        after[ahead] = first
        before[first] = ahead
        after[last] = sentinel
        before[sentinel] = last
    return hits
