"""Plain LRU over independent blocks, the model of general cache simulators: for comparing speed and hits.

No prefixes, no blocks in use: each block is an object of size one, read or else stored. Blocks are
the list's own nodes, so a hit needs no look-up.
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
    cached = hits = 0
    for index in range(len(ids)):
        block = ids[index]
        behind = after[block]
        if behind != _ABSENT:
            hits += 1
            after[before[block]] = behind
            before[behind] = before[block]
        elif cached < capacity_blocks:
            cached += 1
        else:
            victim = after[sentinel]
            after[sentinel] = after[victim]
            before[after[sentinel]] = sentinel
            after[victim] = _ABSENT
        newest = before[sentinel]
        after[newest] = block
        before[block] = newest
        after[block] = sentinel
        before[sentinel] = block
    return hits
