"""SIEVE: a queue that is never reordered, and a hand that passes over what was hit.

Source: Zhang, Yang, Yue, Vigfusson, Rashmi, "SIEVE is simpler than LRU: an efficient turn-key eviction
algorithm for web caches", NSDI 2024.

Rule: blocks stand in the order in which they came. A hit marks a block as visited and moves nothing. The
hand goes from the oldest towards the newest, and on from where it stopped: a visited block loses its mark and
stays where it is, the first other block is the victim. Beyond the newest the hand starts at the oldest
again. So what proved useful stays behind the hand, and new blocks are judged soon.

Cost: O(1) per block, amortised: each block the hand passes over was hit since it passed last.

Adapted to a block pool: a block takes its place when it is let go for the first time after it was cached,
tail of the prompt first. In use it keeps its place, like any block that was hit. If the hand meets
it there, it cannot be a victim and would be met again and again; so it is taken out, loses its mark and
comes back as the newest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence

from keepwarm.policies._held import check_not_held, victims_to_come
from keepwarm.policies.base import BlockId, CachedBlock, VictimOrder


class Sieve(VictimOrder):
    """The queue, cut in two at the hand. Every operation is O(1) per block, ``pop_victim`` amortised."""

    name = "sieve"

    def __init__(self, capacity_blocks: int) -> None:
        super().__init__(capacity_blocks)
        self._passed: OrderedDict[BlockId, None] = OrderedDict()  # older than the hand, oldest first
        self._ahead: OrderedDict[BlockId, None] = OrderedDict()  # from the hand on, the newest last
        self._free: dict[BlockId, CachedBlock] = {}
        self._visited: set[BlockId] = set()

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        """Blocks that kept their places are free in them; the others are the newest."""
        check_not_held(blocks, self._free)
        for block in blocks:
            self._free[block.id] = block
            if block.id not in self._passed:
                self._ahead.setdefault(block.id)

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        """Mark it as visited; a block keeps its place in use."""
        if was_free:
            del self._free[block.id]
        self._visited.add(block.id)

    def pop_victim(self) -> CachedBlock:
        """Move the hand to the first free block that is not visited, and take it."""
        if not self._free:
            raise LookupError("no block is held")
        while True:
            block_id, _ = self._ahead.popitem(last=False)
            is_free, is_visited = block_id in self._free, block_id in self._visited
            self._visited.discard(block_id)
            if is_free and is_visited:
                self._passed[block_id] = None
            if not self._ahead:
                self._passed, self._ahead = self._ahead, self._passed
            if is_free and not is_visited:
                return self._free.pop(block_id)

    def on_reset(self) -> list[BlockId]:
        """Empty the queue, and put the hand back to where it starts."""
        blocks = [self.pop_victim().id for _ in range(len(self))]
        self._passed.clear()
        self._ahead.clear()
        self._visited.clear()
        return blocks

    def __iter__(self) -> Iterator[BlockId]:
        return victims_to_come(self)

    def __len__(self) -> int:
        return len(self._free)
