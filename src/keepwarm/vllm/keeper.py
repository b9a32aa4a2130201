"""The order of one pool's free list while the policy is active.

    [ no hash | the policy's blocks, in its order | watched ]
      vLLM takes blocks from this end

vLLM's list is the truth, and the only place where the order is kept. The policy knows which blocks of it are
protected, and each of its moves is one in the list, so taking the head, as stock vLLM does, takes the
policy's victim. Blocks that somebody still reads until they are reused (``BlockPool.unpin_blocks``) stand
behind all others. A block of which the policy lost track, after a fault, stays where it stands until vLLM
takes it.

Every method catches what goes wrong, notes it and leaves a list that stock vLLM goes on with.
Cost: O(1) per block, and what the policy's ``on_allocate`` costs per allocation. Blocks that were never hit
cost least: vLLM is busiest when one-use prompts flood it.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from time import perf_counter_ns

from keepwarm.policies.base import BlockId
from keepwarm.vllm.counters import SLOT, Counters
from keepwarm.vllm.faults import Faults
from keepwarm.vllm.orders import MakeOrder, cached_block, cached_blocks, make_order
from keepwarm.vllm.settings import Settings
from keepwarm.vllm.stock import Block, Pool, free_blocks, insert, move

logger = logging.getLogger("vllm.computecache")

_SCANNED, _DEMOTED = SLOT["scanned_blocks"], SLOT["demoted_blocks"]
REORDERED, _PROTECTED = SLOT["reordered_decisions"], SLOT["protected_blocks"]
_NEVER = 1 << 62  # frees, more than there will be


class Keeper:
    """Hears from the free queue and the pool what happens, in the thread that schedules."""

    def __init__(
        self,
        pool: Pool,
        settings: Settings,
        counters: Counters,
        faults: Faults,
        make_order: MakeOrder = make_order,
    ) -> None:
        self._counters = counters
        self._words = counters.words
        self.faults = faults
        self._queue = pool.free_block_queue
        self._blocks = pool.blocks
        self.watchers = pool._reuse_watchers
        self._block_tokens = pool.hash_block_size
        self._times_ns = counters.times_ns
        self._log_every = self.log_at = settings.log_every  # decisions
        self._budget_ns = settings.decision_budget_us * 1000
        self.policy = make_order(pool, settings)
        self.is_aged_by_caching = self.policy.is_aged_by_caching
        self._hit_blocks = self.policy.hit_blocks
        self.hears_all = self.is_aged_by_caching  # every block that is taken, also those never hit
        self.watched: dict[int, None] = {}  # in the list, in its order
        self.freed_at = array("Q", bytes(8 * pool.num_gpu_blocks))  # by block: frees until then
        self._frees = 0
        self._scanned_blocks = self._demoted_blocks = self._protected_blocks = 0  # as published
        self._first: Block | None = None  # before which others are freed
        self.protected_freed_at = _NEVER  # when the first protected one was freed
        self.quiet_until = self.policy.quiet_until()  # blocks allocated; before that nothing is to be decided

    def decide(self, new_blocks: int) -> None:
        """Before vLLM takes ``new_blocks`` from the head: the policy's decision, timed and counted."""
        policy = self.policy
        started_ns = perf_counter_ns()
        try:
            policy.on_allocate(new_blocks, 0)
            spent_ns = perf_counter_ns() - started_ns
            self._times_ns.append(spent_ns)
            self._note_moves()
            if spent_ns > self._budget_ns:
                self.faults.note("slow", f"a decision took {spent_ns // 1000} µs")
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("allocate", error)
            with suppress(Exception):
                self._note_moves()

    def taking(
        self, new_blocks: int, cached: Sequence[Block], hit: Sequence[Block], next_block: Block
    ) -> None:
        """So many blocks leave the list at its head, then ``next_block`` is its first.

        ``cached`` are those of them with a hash, ``hit`` those of these that were hit.
        """
        try:
            if self.watched:
                for block in islice(free_blocks(self._queue), new_blocks):
                    self.watched.pop(block.block_id, None)
            if hit or self.is_aged_by_caching:
                policy, was_protected = self.policy, False
                for block in cached:
                    was_protected |= policy.take(block.block_id)
                    policy.forget(block.block_id)
                if was_protected:
                    self._note_protected()
            # Reordered: a block freed before a victim stays, as the heads of the parts tell.
            freed_at, oldest = self.freed_at, self.protected_freed_at
            if next_block._block_hash is not None and next_block.block_id not in self.watched:
                oldest = min(oldest, freed_at[next_block.block_id])
            for block in cached:
                if freed_at[block.block_id] > oldest:
                    self._words[REORDERED] += 1
                    break
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("order", error)

    def freed(self, blocks: Sequence[Block]) -> bool:
        """Put freed blocks with a hash, and watched ones, in their places; False: vLLM shall append them.

        Those that were hit go behind all others and belong to the policy, the others before the first
        protected one.
        """
        try:
            watched: Sequence[Block] = ()
            if self.watchers:
                watched, blocks = self._split(blocks)
            end = self._blocks[next(iter(self.watched))] if self.watched else self._queue.fake_free_list_tail
            boundary = end if self._first is None else self._first
            if boundary.prev_free_block is None or end.prev_free_block is None:
                raise LookupError(f"block {boundary.block_id} or {end.block_id} is not in the free list")
            self._frees = now = self._frees + 1
            hits, freed_at = self._hit_blocks, self.freed_at
            kept: list[Block] = []
            others: list[Block] = []
            for block in blocks:
                block_id = block.block_id
                freed_at[block_id] = now
                (kept if block_id in hits else others).append(block)
            if kept:
                self._keep(kept)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("free", error)
            with suppress(Exception):
                for block in blocks:
                    self.policy.take(block.block_id)
                self._note_protected()
            return False
        # Nothing may fail from here on: vLLM would append them a second time.
        if others:
            insert(self._queue, others, boundary)
        if kept:
            insert(self._queue, kept, end)
        if watched:
            self._append_watched(watched)
        return True

    def freed_blank(self, blocks: Sequence[Block]) -> Sequence[Block]:
        """Which of freed blocks without a hash vLLM shall put at the head; watched ones go to the tail."""
        try:
            watched, others = self._split(blocks)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("free", error)
            return blocks
        if watched:
            self._append_watched(watched)
        return others

    def used(self, blocks: Sequence[BlockId], hit: Sequence[BlockId]) -> None:
        """A request uses ``blocks``, ``hit`` are those with content; they are out of the list by now."""
        if self.policy.use(blocks, hit):
            self._note_protected()
        if self.watched:
            for block in blocks:
                self.watched.pop(block, None)

    def moved(self, source: Block, target: Block, *, was_hit: bool) -> None:
        """The content of ``source``, in use, belongs to ``target`` now."""
        self.policy.forget(source.block_id)
        if self.is_aged_by_caching:
            self.cached([target])
        if was_hit:
            self.policy.count_hit(target.block_id)

    def cached(self, blocks: Sequence[Block]) -> None:
        """These got their hashes."""
        for block in blocks:
            self.policy.on_cache(cached_block(block, self._block_tokens))

    def evicted(self, block: Block) -> None:
        """The content of a block was dropped, in use or free (``BlockPool.evict_blocks``)."""
        self.policy.take(block.block_id)
        self.policy.forget(block.block_id)
        if block.next_free_block is not None and block.block_id not in self.watched:
            move(block, before=self._queue.fake_free_list_head.next_free_block)
        self._note_moves()

    def reset(self) -> None:
        """No block has a hash any more; the list stands as it stood, all of it blank."""
        self.policy.on_reset()
        self.watched.clear()
        self._note_moves()

    def retire(self) -> None:
        """The policy is put away: nothing is protected by it."""
        self.policy.on_reset()
        self._note_moves()

    def _split(self, blocks: Sequence[Block]) -> tuple[Sequence[Block], Sequence[Block]]:
        """Watched blocks, and the others."""
        watchers = self.watchers
        watched = [block for block in blocks if block.block_id in watchers]
        return watched, [block for block in blocks if block.block_id not in watchers]

    def _keep(self, blocks: Sequence[Block]) -> None:
        """Blocks that were hit are the policy's from here on."""
        self.policy.on_free(cached_blocks(blocks, self._block_tokens))
        if self._first is None:
            self._note_protected()
        else:  # they stand behind the first one, which stays what it is
            self._protected_blocks += len(blocks)
            self._words[_PROTECTED] += len(blocks)
            self.quiet_until = self.policy.quiet_until()

    def _append_watched(self, blocks: Sequence[Block]) -> None:
        if blocks:
            insert(self._queue, blocks, before=self._queue.fake_free_list_tail)
            self.hears_all = True
            self.watched.update((block.block_id, None) for block in blocks)

    def _note_moves(self) -> None:
        """The policy has moved blocks: bring up to date what is said of them."""
        policy, words = self.policy, self._words
        words[_SCANNED] += policy.scanned_blocks - self._scanned_blocks
        words[_DEMOTED] += policy.demoted_blocks - self._demoted_blocks
        self._scanned_blocks, self._demoted_blocks = policy.scanned_blocks, policy.demoted_blocks
        self._note_protected()

    def _note_protected(self) -> None:
        """Other blocks are protected than before."""
        policy = self.policy
        protected_blocks = policy.protected_blocks
        self._words[_PROTECTED] += protected_blocks - self._protected_blocks
        self._protected_blocks = protected_blocks
        first = policy.first_protected
        self._first = None if first is None else self._blocks[first.id]
        self.protected_freed_at = _NEVER if first is None else self.freed_at[first.id]
        self.quiet_until = policy.quiet_until()

    def log(self) -> None:
        """What has been done so far, in one line."""
        counters = self._counters
        self.log_at = counters.get("decisions") + self._log_every
        logger.info(
            "%s: %d decisions, %d reordered, %d blocks demoted, %d scanned, %d protected now, "
            "evicted: %d hit, %d never hit; %d evicted tokens requested again",
            self.faults.system,
            counters.get("decisions"),
            counters.get("reordered_decisions"),
            counters.get("demoted_blocks"),
            counters.get("scanned_blocks"),
            self.policy.protected_blocks,
            counters.get("evicted_hit"),
            counters.get("evicted_never_hit"),
            counters.get("evicted_then_requested_tokens"),
        )
