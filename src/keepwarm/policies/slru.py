"""Segmented least recently used: blocks that were hit are kept apart from those that never were.

Source: Karedla, Love, Wherry, "Caching strategies to improve disk system performance", IEEE Computer
27(3), 1994.

Rule: two queues. A new block joins the end of the probation queue, a block that was hit joins the end of
the protected queue. The protected queue holds at most a share of the cache; what overflows its head moves to
the end of the probation queue and so gets one more chance. The victim is the head of the probation queue,
or of the protected one if nobody is on probation.

Cost: O(1) per block.

Adapted to a block pool: a block takes its place when its last user lets go, not at the hit, and the tail
of the prompt goes first. A block in use is in neither queue and counts for neither. The source leaves the
share to the workload; here it is 0.8 of the pool, free or in use.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence

from keepwarm.policies._held import check_not_held
from keepwarm.policies.base import BlockId, CachedBlock, VictimOrder

PROTECTED_PERCENT = 80  # of the pool; a whole number, so that the limit is the same on every machine


def protected_limit_blocks(capacity_blocks: int) -> int:
    """The most blocks the protected queue holds."""
    return capacity_blocks * PROTECTED_PERCENT // 100


class Slru(VictimOrder):
    """Probation and protection. Every operation is O(1) per block."""

    name = "slru"

    def __init__(self, capacity_blocks: int) -> None:
        super().__init__(capacity_blocks)
        self._limit = protected_limit_blocks(capacity_blocks)
        self._probation: OrderedDict[BlockId, CachedBlock] = OrderedDict()
        self._protected: OrderedDict[BlockId, CachedBlock] = OrderedDict()
        self._hit: set[BlockId] = set()  # since they were cached

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        """Blocks that were hit are protected, and push out the oldest that are, one by one."""
        check_not_held(blocks, self._probation)
        check_not_held(blocks, self._protected)
        for block in blocks:
            if block.id not in self._hit:
                self._probation[block.id] = block
                continue
            self._protected[block.id] = block
            if len(self._protected) > self._limit:
                demoted_id, demoted = self._protected.popitem(last=False)
                self._probation[demoted_id] = demoted

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        """Take a free block out; it comes back protected."""
        if was_free:
            del (self._protected if block.id in self._protected else self._probation)[block.id]
        self._hit.add(block.id)

    def pop_victim(self) -> CachedBlock:
        """Take the head of probation, of the protected only if there is none."""
        block_id, block = (self._probation or self._protected).popitem(last=False)
        self._hit.discard(block_id)
        return block

    def on_reset(self) -> list[BlockId]:
        """Empty both queues, head first."""
        blocks = list(self)
        self._probation.clear()
        self._protected.clear()
        self._hit.clear()
        return blocks

    def __iter__(self) -> Iterator[BlockId]:
        yield from self._probation
        yield from self._protected

    def __len__(self) -> int:
        return len(self._probation) + len(self._protected)
