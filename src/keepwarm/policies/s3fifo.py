"""S3-FIFO: a small queue that new blocks must get through, a main queue, and a memory of what was evicted.

Source: Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all you need for cache eviction", SOSP 2023,
algorithm 1.

Rule: a block counts its hits, 3 at most. New blocks join the small queue, or the main queue if their hash
is in the ghost: those evicted from small lately, as many as main may hold. While main is over its 90% of
the pool, its head is looked at, else the head of small. At the head of small, a block hit more than
once moves to the end of main and counts from 0 again; any other is the victim and its hash goes to the
ghost. At the head of main, a block with hits loses one and goes to the end; one without is the victim.

Cost: O(1) per block, amortised: each move was paid for by a hit.

Adapted to a block pool, so not as in the paper:

- A block joins its queue when it is let go for the first time after it was cached, tail of the prompt first.
  Blocks that are in no queue yet count as small, unless the ghost sends them to main: small is over its
  10% exactly if main is not over its 90%.
- In use a block keeps its place. Met at a head, it is taken out and comes back at the end of main when it is
  let go: from small with no hits, from main with one less, as if it had moved there. Main counts it already.
- One victim at a time: where the paper makes room in main within an eviction from small, that is the victim.
- The ghost goes by age, as the paper suggests for its implementation: a hash is in it if fewer than its size
  were put in since. One that is cached again leaves it, one that is put in again takes its newer place.
- If the queue whose turn it is has no blocks, the other is looked at. The small share is at least one block.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence

from keepwarm.policies._held import check_not_held, victims_to_come
from keepwarm.policies.base import BlockHash, BlockId, CachedBlock, VictimOrder

MOST_HITS = 3
SMALL_PERCENT = 10  # of the pool; a whole number, so that the limit is the same on every machine


def main_limit_blocks(capacity_blocks: int) -> int:
    """The most blocks of the main queue before it has to give some up, and the size of the ghost."""
    return capacity_blocks - max(1, capacity_blocks * SMALL_PERCENT // 100)


class S3Fifo(VictimOrder):
    """Three queues. Every operation is O(1) per block, ``pop_victim`` amortised."""

    name = "s3fifo"

    def __init__(self, capacity_blocks: int) -> None:
        super().__init__(capacity_blocks)
        self._main_limit = main_limit_blocks(capacity_blocks)
        self._small: OrderedDict[BlockId, None] = OrderedDict()
        self._main: OrderedDict[BlockId, None] = OrderedDict()
        self._of_main: set[BlockId] = set()  # those in the queue, and those in use that will join it
        self._free: dict[BlockId, CachedBlock] = {}
        self._hits: dict[BlockId, int] = {}
        self._ghost: OrderedDict[BlockHash, int] = OrderedDict()  # when each was put in, oldest first
        self._put_in = 0  # into the ghost so far

    def on_cache(self, block: CachedBlock) -> None:
        """A block whose content was evicted lately belongs to main."""
        if self._ghost.pop(block.hash, None) is not None:
            self._of_main.add(block.id)

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        """Blocks that kept their places are free in them; the others join the queue they belong to."""
        check_not_held(blocks, self._free)
        for block in blocks:
            self._free[block.id] = block
            (self._main if block.id in self._of_main else self._small).setdefault(block.id)

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        """Count it; a block keeps its place in use."""
        if was_free:
            del self._free[block.id]
        self._hits[block.id] = min(self._hits.get(block.id, 0) + 1, MOST_HITS)

    def pop_victim(self) -> CachedBlock:
        """Look at one head after the other until a block falls out."""
        if not self._free:
            raise LookupError("no block is held")
        while True:
            main_turn = len(self._of_main) > self._main_limit
            if self._main and (main_turn or not self._small):
                victim = self._look_at_main()
            else:
                victim = self._look_at_small()
            if victim is not None:
                return victim

    def on_reset(self) -> list[BlockId]:
        """Empty the queues and the ghost."""
        blocks = [self.pop_victim().id for _ in range(len(self))]
        self._small.clear()
        self._main.clear()
        self._of_main.clear()
        self._hits.clear()
        self._ghost.clear()
        self._put_in = 0
        return blocks

    def _look_at_small(self) -> CachedBlock | None:
        block_id, _ = self._small.popitem(last=False)
        if block_id not in self._free or self._hits.get(block_id, 0) > 1:
            self._hits.pop(block_id, None)
            self._of_main.add(block_id)
            if block_id in self._free:
                self._main[block_id] = None
            return None
        self._hits.pop(block_id, None)
        victim = self._free.pop(block_id)
        self._remember(victim.hash)
        return victim

    def _look_at_main(self) -> CachedBlock | None:
        block_id, _ = self._main.popitem(last=False)
        hits = self._hits.get(block_id, 0)
        if block_id in self._free and hits == 0:
            self._hits.pop(block_id, None)
            self._of_main.remove(block_id)
            return self._free.pop(block_id)
        self._hits[block_id] = max(0, hits - 1)
        if block_id in self._free:
            self._main[block_id] = None
        return None

    def _remember(self, block_hash: BlockHash) -> None:
        """Put a hash into the ghost; what has become too old leaves."""
        self._ghost[block_hash] = self._put_in
        self._ghost.move_to_end(block_hash)
        self._put_in += 1
        while self._ghost and self._put_in - next(iter(self._ghost.values())) > self._main_limit:
            self._ghost.popitem(last=False)

    def __iter__(self) -> Iterator[BlockId]:
        return victims_to_come(self)

    def __len__(self) -> int:
        return len(self._free)
