"""ComputeCache as first published: reorder a window at the head of the LRU queue before victims are taken.

Source: the rule of the first ComputeCache, stated here in full. The queue is vLLM's. When an allocation is
about to take victims, the blocks among the first ``scan_limit`` free ones are ranked by keep value
(``keep_value.py``), lowest first, ties by place in the queue; as many as will be taken move to the front in
that order. Blank blocks stand at the head of the same queue and rank lowest, so each leaves one place less
for cached ones. Blocks that somebody watches stay where they are.

Kept for comparison: it protects little. Hot blocks drift into the window, and are taken as soon as an
allocation needs more victims than the window has cold blocks. ``computecache`` replaces it.

Cost: O(scan_limit · log scan_limit) per allocation that evicts, O(1) per block otherwise.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import islice
from typing import Literal

from keepwarm.policies.base import BlockId, CachedBlock
from keepwarm.policies.keep_value import KEEP_WEIGHTS, BlockUses, KeepWeights
from keepwarm.policies.lru import Lru

WINDOW_SCAN_LIMIT = 64


class ComputeCacheWindow(Lru):
    """LRU with a ranked window of ``scan_limit`` blocks at its head.

    In mode ``lru`` the queue is never read, and the order is plain LRU. ``watched`` are blocks that are never
    ranked, read at each allocation (vLLM hands out blocks that a connector still reads last).
    """

    name = "computecache-window"

    def __init__(
        self,
        capacity_blocks: int,
        *,
        mode: Literal["active", "lru"] = "active",
        scan_limit: int = WINDOW_SCAN_LIMIT,
        watched: Container[BlockId] = (),
        weights: KeepWeights = KEEP_WEIGHTS,
    ) -> None:
        super().__init__(capacity_blocks)
        self._active = mode == "active"
        self._scan_limit = scan_limit
        self._watched = watched
        self._uses = BlockUses(weights=weights)
        self.scanned_blocks = 0  # keep values read so far

    def take(self, block: BlockId) -> bool:
        """Let go of a block wherever it stands; False if it is not held. Mutates; O(1)."""
        return self._queue.pop(block, None) is not None

    def bring_forward(self, block: CachedBlock) -> None:
        """Place a held block at the head. Mutates; O(1)."""
        self._queue.move_to_end(block.id, last=False)

    def on_cache(self, block: CachedBlock) -> None:
        """Its age counts from here."""
        self._uses.cached(block.id)

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        """Count it; take a free block out."""
        super().on_hit(block, was_free=was_free)
        self.count_hit(block.id)

    def on_allocate(self, new_blocks: int, blank_blocks: int) -> None:
        """Bring the victims-to-be to the front, lowest keep value first."""
        victims = new_blocks - blank_blocks
        if not self._active or victims <= 0:
            return
        window = islice(self._queue.values(), max(0, self._scan_limit - blank_blocks))
        for block in reversed(self.lowest(victims, (b for b in window if b.id not in self._watched))):
            self.bring_forward(block)

    def lowest(self, count: int, window: Iterable[CachedBlock]) -> list[CachedBlock]:
        """Up to ``count`` blocks of the window, lowest keep value first. Mutates ``scanned_blocks`` only."""
        # The sort is stable: ties stay in queue order, in which no two blocks share a place.
        ranked = sorted(window, key=self._uses.keep_value)
        self.scanned_blocks += len(ranked)
        return ranked[:count]

    def count_hit(self, block: BlockId) -> None:
        """A block that is not held is hit. Mutates; O(1)."""
        self._uses.hit(block)

    def on_evict(self, block: CachedBlock) -> None:
        """Forget its hits."""
        self.forget(block.id)

    def forget(self, block: BlockId) -> None:
        """The content of a block is lost. Mutates; O(1)."""
        self._uses.forget(block)

    def on_reset(self) -> list[BlockId]:
        """Empty the queue, head first; the clock starts anew."""
        self._uses.clear()
        return super().on_reset()
