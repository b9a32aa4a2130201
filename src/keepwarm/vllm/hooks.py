"""What a hooked pool tells: counters in both modes, and the keeper while the policy is active."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from time import monotonic
from typing import Any

from keepwarm.policies.base import BlockId
from keepwarm.vllm.counters import EVICTION_CLASSES, MODES, SLOT, Counters
from keepwarm.vllm.faults import Faults
from keepwarm.vllm.keeper import REORDERED, Keeper
from keepwarm.vllm.orders import MakeOrder, make_order
from keepwarm.vllm.requested import EvictedHashes
from keepwarm.vllm.settings import Settings
from keepwarm.vllm.stock import Block, Pool

logger = logging.getLogger("vllm.computecache")

LEAST_REMEMBERED_HASHES = 16_384  # evicted ones, beside as many as the pool has blocks
TICK_EVERY = 64  # allocations: so often counts are published, and a decision that looks at nothing is timed
PUBLISH_EVERY_S = 0.1  # where requests end more often than that
_DECISIONS = SLOT["decisions"]
_UNHASHED, _NEVER_HIT, _HIT = (SLOT[f"evicted_{name}"] for name in EVICTION_CLASSES)
_REQUESTED = SLOT["evicted_then_requested_tokens"]


class Hooks:
    """Of one pool. Nothing raises."""

    def __init__(
        self, pool: Pool, settings: Settings, counters: Counters, make_order: MakeOrder = make_order
    ) -> None:
        self._pool = pool
        self._queue = pool.free_block_queue
        self._words = counters.words
        self._counters = counters
        self._idle_blocks = pool.num_gpu_blocks - 1  # all but the null block are free
        self._was_hit = bytearray(pool.num_gpu_blocks)
        self.lost = EvictedHashes(max(pool.num_gpu_blocks, LEAST_REMEMBERED_HASHES))
        self.faults = Faults(counters, settings.fault_limit, self.trip)
        self.keeper: Keeper | None = None
        if settings.mode == "active":
            self.keeper = Keeper(pool, settings, counters, self.faults, make_order)
        # What decoding fills nobody asked for; it is asked for when it comes back in a prompt.
        self.hears_of_answers = self.keeper is not None and self.keeper.is_aged_by_caching
        self._allocations = 0
        self._due = 1  # the allocation with which the next tick comes
        self._published_s = 0.0

    def allocating(self, new_blocks: int) -> None:
        """So many blocks are about to be taken from the head of the free list; what they hold is lost."""
        try:
            self._allocations = allocations = self._allocations + 1
            is_due = allocations >= self._due
            keeper, words = self.keeper, self._words
            if keeper is not None:
                words[_DECISIONS] += 1
                policy = keeper.policy
                allocated_blocks = policy.allocated_blocks + new_blocks
                if allocated_blocks < keeper.quiet_until and not is_due:
                    policy.allocated_blocks = allocated_blocks
                else:
                    keeper.decide(new_blocks)
            block = self._queue.fake_free_list_head.next_free_block
            block_id = block.block_id
            # Decoding takes one block at a time: vLLM's busiest path, where each call more costs.
            if new_blocks != 1 or self._was_hit[block_id] or (keeper is not None and keeper.hears_all):
                self._taking(new_blocks, block)
            elif (block_hash := block._block_hash) is None:
                words[_UNHASHED] += 1
            else:
                self.lost.recent[block_hash] = None
                words[_NEVER_HIT] += 1
                if keeper is not None and keeper.freed_at[block_id] > keeper.protected_freed_at:
                    words[REORDERED] += 1
            if is_due:
                self._tick()
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("evict", error)

    def _taking(self, new_blocks: int, block: Block) -> None:
        """Any number of blocks from ``block`` on, of any class."""
        cached: list[Block] = []
        hit: list[Block] = []
        was_hit, lost, words, keeper = self._was_hit, self.lost.recent, self._words, self.keeper
        for _ in range(new_blocks):
            block_hash = block._block_hash
            if block_hash is not None:
                cached.append(block)
                lost[block_hash] = None
                if was_hit[block.block_id]:
                    hit.append(block)
                    was_hit[block.block_id] = 0
            block = block.next_free_block
        if len(lost) >= self.lost.half:
            self.lost.turn()
        words[_NEVER_HIT] += len(cached) - len(hit)
        if hit or len(cached) != new_blocks:
            words[_HIT] += len(hit)
            words[_UNHASHED] += new_blocks - len(cached)
        if keeper is not None:
            if hit or keeper.hears_all:
                keeper.taking(new_blocks, cached, hit, block)
            elif cached and keeper.freed_at[cached[-1].block_id] > keeper.protected_freed_at:
                words[REORDERED] += 1

    def _tick(self) -> None:
        """What is done now and then: let readers see the counts, log, keep what is remembered small."""
        keeper, decisions = self.keeper, self._words[_DECISIONS]
        wait = TICK_EVERY
        if keeper is not None:
            if decisions >= keeper.log_at:
                keeper.log()
            wait = min(wait, keeper.log_at - decisions)
        self._due = self._allocations + max(1, wait)
        if len(self.lost.recent) >= self.lost.half:
            self.lost.turn()
        self._counters.publish()

    def touched(self, blocks: Sequence[Block]) -> None:
        """A request uses blocks; those without a hash hold nothing that could have been hit."""
        try:
            was_hit, keeper = self._was_hit, self.keeper
            hit: list[BlockId] = []
            for block in blocks:
                if block._block_hash is not None:
                    was_hit[block.block_id] = 1
                    hit.append(block.block_id)
            if keeper is not None and blocks:
                used = hit if len(hit) == len(blocks) else [block.block_id for block in blocks]
                keeper.used(used, hit)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("hit", error)

    def cached(self, request: Any, blocks: Sequence[Block], first_token: int) -> None:
        """``blocks`` got their hashes, some perhaps before; the first of them begins at ``first_token``."""
        try:
            if first_token < request.num_prompt_tokens:
                lost = self.lost
                recent, older = lost.recent, lost.older
                for block in blocks:
                    if (block_hash := block._block_hash) in recent or block_hash in older:
                        self._requested_again(block)
            if self.keeper is not None and self.keeper.is_aged_by_caching:
                self.keeper.cached(blocks)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("cache", error)

    def moved(self, source: Block, target: Block) -> None:
        """The content of one block belongs to another now, and its hits with it."""
        try:
            was_hit = self._was_hit[source.block_id]
            self._was_hit[source.block_id], self._was_hit[target.block_id] = 0, was_hit
            if self.keeper is not None:
                self.keeper.moved(source, target, was_hit=bool(was_hit))
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("cache", error)

    def contents(self, block_ids: set[int]) -> list[tuple[Any, Block]]:
        """Which of these blocks hold something, and what."""
        try:
            blocks = self._pool.blocks
            known = [blocks[block_id] for block_id in block_ids if block_id < len(blocks)]
            return [(block._block_hash, block) for block in known if block._block_hash is not None]
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("evict", error)
            return []

    def dropped(self, contents: Sequence[tuple[Any, Block]]) -> None:
        """Content is lost that somebody asked to drop, in use or free (``BlockPool.evict_blocks``)."""
        try:
            for block_hash, block in contents:
                self.lost.recent[block_hash] = None
                self._words[_HIT if self._was_hit[block.block_id] else _NEVER_HIT] += 1
                self._was_hit[block.block_id] = 0
                if self.keeper is not None:
                    self.keeper.evicted(block)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("evict", error)

    def freed(self) -> None:
        """A request has let its blocks go: if it was the last, the counts may stay for long as they are."""
        try:
            now_s, is_idle = monotonic(), self._queue.num_free_blocks >= self._idle_blocks
            if is_idle or now_s >= self._published_s + PUBLISH_EVERY_S:
                self._published_s = now_s
                self._counters.publish()
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("free", error)

    def reset(self) -> None:
        """No block has content any more, because somebody wanted it so."""
        try:
            self.lost.clear()
            self._was_hit[:] = bytes(len(self._was_hit))
            if self.keeper is not None:
                self.keeper.reset()
            self._counters.publish()
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("reset", error)

    def _requested_again(self, block: Block) -> None:
        block_hash = block._block_hash
        self.lost.discard(block_hash)
        # vLLM keeps duplicates: content that another block holds was not lost.
        if self._pool.cached_block_hash_to_block.get_one_block(block_hash) is block:
            self._words[_REQUESTED] += self._pool.hash_block_size

    def trip(self) -> None:
        """Put the policy away until the engine starts anew: from here on the queue is vLLM's own."""
        keeper, self.keeper = self.keeper, None
        if keeper is None:
            return
        queue: Any = self._queue
        queue.__class__ = type(queue).stock
        self._counters.set("tripped", 1)
        self._counters.set("mode", 1 + MODES.index("lru"))
        keeper.retire()
        logger.warning(
            "%s: too many faults, the policy is put away until restart: stock LRU from here",
            self.faults.system,
        )
