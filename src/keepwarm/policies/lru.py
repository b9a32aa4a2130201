"""Least recently used, the stock order of vLLM.

A queue: blocks join at the end when the last request that uses them lets go, tail of the prompt
first, so that of one prompt the end is lost before the beginning. A hit takes a block out; the
victim is the head.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence

from keepwarm.policies.base import BlockId, CachedBlock, VictimOrder


class Lru(VictimOrder):
    """vLLM's free queue. Every operation is O(1) per block."""

    name = "lru"

    def __init__(self, capacity_blocks: int) -> None:
        super().__init__(capacity_blocks)
        self._queue: OrderedDict[BlockId, CachedBlock] = OrderedDict()

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        """Append in the order given: the tail of a prompt is lost first."""
        added = {block.id: block for block in blocks}
        held = added.keys() & self._queue.keys()
        if held or len(added) != len(blocks):
            raise ValueError(f"blocks freed twice: {sorted(held) or blocks!r}")
        self._queue.update(added)

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        """Take a free block out; it comes back at the end."""
        if was_free:
            del self._queue[block.id]

    def pop_victim(self) -> CachedBlock:
        """Take the head: free for the longest time."""
        return self._queue.popitem(last=False)[1]

    def on_reset(self) -> list[BlockId]:
        """Empty the queue, head first."""
        blocks = list(self._queue)
        self._queue.clear()
        return blocks

    def __iter__(self) -> Iterator[BlockId]:
        return iter(self._queue)

    def __len__(self) -> int:
        return len(self._queue)
