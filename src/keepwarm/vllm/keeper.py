"""The order of one pool's free list while the policy is active.

    [ no hash | the policy's blocks, in its order | watched ]
      vLLM takes blocks from this end

vLLM's list is the truth. The policy holds the cached blocks among it, and every move it makes is made in the
list at once, so taking the head, as stock vLLM does, takes the policy's victim. Blocks that somebody still
reads until they are reused (``BlockPool.unpin_blocks``) stand behind all others. Where the two disagree,
after a fault, a block stays where it stands until vLLM takes it.

Every method catches what goes wrong, notes it and leaves a list that stock vLLM goes on with.
Cost: O(1) per block, and what the policy's ``on_allocate`` costs per allocation.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from time import perf_counter_ns

from keepwarm.policies.base import BlockHash, BlockId, CachedBlock
from keepwarm.vllm.counters import Counters
from keepwarm.vllm.faults import Faults
from keepwarm.vllm.orders import make_order
from keepwarm.vllm.settings import Settings
from keepwarm.vllm.stock import Block, Pool, insert, move

logger = logging.getLogger("vllm.computecache")

_NO_HASH = BlockHash(0)  # ComputeCache knows blocks by their ids; only their depth is read


class Keeper:
    """Hears from the free queue and the pool what happens, in the thread that schedules."""

    def __init__(self, pool: Pool, settings: Settings, counters: Counters, faults: Faults) -> None:
        self._settings = settings
        self._counters = counters
        self.faults = faults
        self._queue = pool.free_block_queue
        self._blocks = pool.blocks
        self._watchers = pool._reuse_watchers
        self._block_tokens = pool.hash_block_size
        self.policy = make_order(pool.num_gpu_blocks - 1, settings, pool.blocks)
        self.wants_cached = settings.rule == "window"  # ages count from there; the boundary has none
        self.blank_blocks = pool.free_block_queue.num_free_blocks
        self.watched: dict[int, None] = {}  # in the list, in its order
        self._strays: set[int] = set()  # in the list, and in no part of it, after a fault
        self._freed_at = [0] * pool.num_gpu_blocks
        self._frees = 0
        self._decisions = 0

    def allocating(self, new_blocks: int) -> None:
        """Before vLLM takes ``new_blocks`` from the head: the policy's decision, counted and timed."""
        policy, counters = self.policy, self._counters
        scanned, demoted = policy.scanned_blocks, policy.demoted_blocks
        started_ns = perf_counter_ns()
        try:
            policy.on_allocate(new_blocks, max(0, self.blank_blocks))
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("allocate", error)
        spent_ns = perf_counter_ns() - started_ns
        with suppress(Exception):
            counters.add_decision(spent_ns)
            if policy.scanned_blocks != scanned:
                counters.add("scanned_blocks", policy.scanned_blocks - scanned)
            if policy.demoted_blocks != demoted:
                counters.add("demoted_blocks", policy.demoted_blocks - demoted)
            self._log_now_and_then()
        if spent_ns > self._settings.decision_budget_us * 1000:
            self.faults.note("slow", f"a decision took {spent_ns // 1000} µs")

    def taken(self, blocks: Iterable[Block]) -> None:
        """Blocks have left the list at its head."""
        try:
            policy, newest = self.policy, 0
            for block in blocks:
                block_id = block.block_id
                if policy.take(BlockId(block_id)):
                    newest = max(newest, self._freed_at[block_id])
                else:
                    self._take_other(block_id)
            if newest:
                self._note_reordered(newest)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("order", error)

    def removed(self, block: Block) -> None:
        """A block has left the list because a request uses it again."""
        try:
            if not self.policy.take(BlockId(block.block_id)):
                self._take_other(block.block_id)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("order", error)

    def freed(self, blocks: Sequence[Block]) -> bool:
        """Put freed blocks with a hash, and watched ones, in their places; False: vLLM shall append them."""
        watched, others = self._split(blocks)
        try:
            runs = self._take_over(others)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("free", error)
            self._disown(blocks)
            return False
        for run, before in runs:
            if run:
                insert(self._queue, run, before)
        self._append_watched(watched)
        with suppress(Exception):
            self._counters.set("protected_blocks", self.policy.protected_blocks)
        return True

    def freed_blank(self, blocks: Sequence[Block]) -> Sequence[Block]:
        """Which of freed blocks without a hash vLLM shall put at the head; watched ones go to the tail."""
        watched, others = self._split(blocks)
        self._append_watched(watched)
        self.blank_blocks += len(others)
        return others

    def hit(self, block: Block) -> None:
        """A request uses a cached block; it is out of the list by now."""
        self.policy.on_hit(self._cached(block), was_free=False)

    def cached(self, block: Block) -> None:
        """A block got its hash."""
        self.policy.on_cache(self._cached(block))

    def evicted(self, block: Block) -> None:
        """The content of a block is lost; it may stand in the list still (``BlockPool.evict_blocks``)."""
        cached = self._cached(block)
        if block.next_free_block is not None and self.policy.take(cached.id):
            self.blank_blocks += 1
            move(block, before=self._queue.fake_free_list_head.next_free_block)
        self.policy.on_evict(cached)

    def reset(self) -> None:
        """No block has a hash any more; the list stands as it stood, all of it blank."""
        self.policy.on_reset()
        self.watched.clear()
        self._strays.clear()
        self.blank_blocks = self._queue.num_free_blocks

    def _split(self, blocks: Sequence[Block]) -> tuple[Sequence[Block], Sequence[Block]]:
        """Watched blocks, and the others."""
        watchers = self._watchers
        if not watchers:
            return (), blocks
        watched = [block for block in blocks if block.block_id in watchers]
        return watched, [block for block in blocks if block.block_id not in watchers]

    def _take_over(self, blocks: Sequence[Block]) -> tuple[tuple[Sequence[Block], Block], ...]:
        """Give blocks to the policy; what to insert in the list, and before which block each run."""
        policy = self.policy
        cached = [self._cached(block) for block in blocks]
        protects = [policy.protects(block) for block in cached]
        first = policy.first_protected
        end = self._blocks[next(iter(self.watched))] if self.watched else self._queue.fake_free_list_tail
        boundary = end if first is None else self._blocks[first.id]
        if boundary.prev_free_block is None or end.prev_free_block is None:
            raise LookupError(f"block {boundary.block_id} or {end.block_id} is not in the free list")
        policy.on_free(cached)
        for block in blocks:
            self._frees += 1
            self._freed_at[block.block_id] = self._frees
        if not any(protects):
            return ((blocks, boundary),)
        return (
            ([block for block, kept in zip(blocks, protects, strict=True) if not kept], boundary),
            ([block for block, kept in zip(blocks, protects, strict=True) if kept], end),
        )

    def _append_watched(self, blocks: Sequence[Block]) -> None:
        if blocks:
            insert(self._queue, blocks, before=self._queue.fake_free_list_tail)
            self.watched.update((block.block_id, None) for block in blocks)

    def _cached(self, block: Block) -> CachedBlock:
        depth_blocks = (block.block_hash_num_tokens or 0) // self._block_tokens
        return CachedBlock(BlockId(block.block_id), _NO_HASH, depth_blocks)

    def _take_other(self, block_id: int) -> None:
        """A block of the list that the policy does not hold has left it."""
        if block_id in self.watched:
            del self.watched[block_id]
        elif block_id in self._strays:
            self._strays.remove(block_id)
        else:
            self.blank_blocks -= 1

    def _disown(self, blocks: Sequence[Block]) -> None:
        """What was half taken over belongs to nobody now."""
        for block in blocks:
            with suppress(Exception):
                self._strays.add(block.block_id)
                self.policy.take(BlockId(block.block_id))

    def _note_reordered(self, newest: int) -> None:
        """Count the decision if a block freed before a victim stays, as the heads of the parts tell."""
        policy = self.policy
        heads = (policy.first, policy.first_protected)
        if any(head is not None and self._freed_at[head.id] < newest for head in heads):
            self._counters.add("reordered_decisions")

    def _log_now_and_then(self) -> None:
        self._decisions += 1
        if self._decisions % self._settings.log_every == 0:
            counters = self._counters
            logger.info(
                "ComputeCache: %d decisions, %d reordered, %d blocks demoted, %d scanned, %d protected now, "
                "evicted: %d hit, %d never hit; %d evicted tokens requested again",
                counters.get("decisions"),
                counters.get("reordered_decisions"),
                counters.get("demoted_blocks"),
                counters.get("scanned_blocks"),
                self.policy.protected_blocks,
                counters.get("evicted_hit"),
                counters.get("evicted_never_hit"),
                counters.get("evicted_then_requested_tokens"),
            )
