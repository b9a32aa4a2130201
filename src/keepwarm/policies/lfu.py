"""Least frequently used, counted while a block is cached.

Source: the in-cache LFU of Breslau, Cao, Fan, Phillips, Shenker, "Web caching and Zipf-like distributions:
evidence and implications", INFOCOM 1999: what is evicted loses its count.

Rule: a block's frequency is its hits since it was cached, 255 at most. The victim is the block of lowest
frequency; among equals the one that was let go longest ago. Counts never decay, so what was hot once
stays for as long as anything colder is there.

Cost: O(1) per block: one queue per frequency, and one bit per frequency that says which are not empty.

Adapted to a block pool: a block in use is in no queue, a hit counts for it all the same; blocks join
the end of a queue when their last user lets go, tail of the prompt first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence

from keepwarm.policies._held import check_not_held
from keepwarm.policies.base import BlockId, CachedBlock, VictimOrder

MOST_HITS = 255


class Lfu(VictimOrder):
    """One queue per number of hits. Every operation is O(1) per block."""

    name = "lfu"

    def __init__(self, capacity_blocks: int) -> None:
        super().__init__(capacity_blocks)
        self._queues: list[OrderedDict[BlockId, CachedBlock]] = [OrderedDict() for _ in range(MOST_HITS + 1)]
        self._filled = 0  # bit n: queue n is not empty
        self._free_hits: dict[BlockId, int] = {}  # the queue each held block is in
        self._hits: dict[BlockId, int] = {}  # since it was cached; absent if never

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        """Append each to the queue of its frequency."""
        check_not_held(blocks, self._free_hits)
        for block in blocks:
            hits = self._hits.get(block.id, 0)
            self._queues[hits][block.id] = block
            self._filled |= 1 << hits
            self._free_hits[block.id] = hits

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        """Count it, and take a free block out."""
        if was_free:
            hits = self._free_hits.pop(block.id)
            del self._queues[hits][block.id]
            self._clear_if_empty(hits)
        self._hits[block.id] = min(self._hits.get(block.id, 0) + 1, MOST_HITS)

    def pop_victim(self) -> CachedBlock:
        """Take the head of the lowest queue that is not empty."""
        if not self._filled:
            raise LookupError("no block is held")
        hits = (self._filled & -self._filled).bit_length() - 1
        block_id, block = self._queues[hits].popitem(last=False)
        self._clear_if_empty(hits)
        del self._free_hits[block_id]
        self._hits.pop(block_id, None)
        return block

    def on_reset(self) -> list[BlockId]:
        """Empty all queues, lowest first."""
        blocks = list(self)
        for queue in self._queues:
            queue.clear()
        self._filled = 0
        self._free_hits.clear()
        self._hits.clear()
        return blocks

    def _clear_if_empty(self, hits: int) -> None:
        if not self._queues[hits]:
            self._filled &= ~(1 << hits)

    def __iter__(self) -> Iterator[BlockId]:
        for queue in self._queues:
            yield from queue

    def __len__(self) -> int:
        return len(self._free_hits)
