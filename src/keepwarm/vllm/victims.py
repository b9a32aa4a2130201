"""What is lost with the blocks that are taken from the head of the list, where a policy hears of it.

``Quick.take`` is the same without a policy.
"""

from __future__ import annotations

from itertools import islice

from keepwarm.vllm.counters import HIT, NEVER_HIT, REORDERED, UNHASHED
from keepwarm.vllm.keeper import Keeper
from keepwarm.vllm.quick import Quick
from keepwarm.vllm.stock import Block, FreeQueue, free_blocks


class Victims:
    """Counts them by class, and the decisions that LRU would have made otherwise. May raise."""

    def __init__(self, queue: FreeQueue, quick: Quick, keeper: Keeper) -> None:
        self._queue = queue
        self._quick = quick
        self._keeper = keeper
        self._words = quick.words

    def take(self, new_blocks: int, block: Block) -> None:
        """So many blocks, of any class, are taken from ``block`` on, the head of the list."""
        quick, keeper, words = self._quick, self._keeper, self._words
        was_hit, recent, freed_at = quick.was_hit, quick.lost.recent, quick.freed_at
        hears_all = keeper.hears_all
        blank = hits = freed_last = 0
        for _ in range(new_blocks):
            block_hash = block._block_hash
            if block_hash is None:
                blank += 1
            else:
                recent[block_hash] = None
                block_id = block.block_id
                if freed_at[block_id] > freed_last:
                    freed_last = freed_at[block_id]
                if was_hit[block_id]:
                    hits += 1
                    was_hit[block_id] = 0
                    keeper.lose(block_id)
                elif hears_all:
                    keeper.lose(block_id)
            block = block.next_free_block
        words[NEVER_HIT] += new_blocks - blank - hits
        words[UNHASHED] += blank
        words[HIT] += hits
        if hears_all and keeper.watched:
            keeper.unwatch(taken.block_id for taken in islice(free_blocks(self._queue), new_blocks))
        if freed_last:
            self._compare(freed_last, block if hits or hears_all else None)

    def take_hit(self, block: Block) -> None:
        """Of one block that is taken, was hit and is counted, what is left to do."""
        self._keeper.lose(block.block_id)
        self._compare(self._quick.freed_at[block.block_id], block.next_free_block)

    def _compare(self, freed_at: int, next_block: Block | None) -> None:
        """A decision is reordered if a block stays that was freed before its victim: the parts' heads tell.

        ``next_block`` is the head of the list after it, or None if it need not be looked at.
        """
        quick = self._quick
        oldest = quick.protected_freed_at
        if oldest and freed_at > oldest:
            self._words[REORDERED] += 1
        elif next_block is not None and next_block._block_hash is not None:
            block_id = next_block.block_id
            if freed_at > quick.freed_at[block_id] and block_id not in self._keeper.watched:
                self._words[REORDERED] += 1
