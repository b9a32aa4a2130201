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
from collections.abc import Iterable, Sequence
from contextlib import suppress
from time import perf_counter_ns

from keepwarm.policies.base import BlockId, CachedBlock
from keepwarm.vllm.counters import SLOT, Counters
from keepwarm.vllm.faults import Faults
from keepwarm.vllm.orders import NO_HASH, MakeOrder, cached_block, make_order
from keepwarm.vllm.quick import Quick
from keepwarm.vllm.settings import Settings
from keepwarm.vllm.stock import Block, Pool, insert, move

logger = logging.getLogger("vllm.computecache")

_SCANNED, _DEMOTED = SLOT["scanned_blocks"], SLOT["demoted_blocks"]
_PROTECTED = SLOT["protected_blocks"]


class Keeper:
    """Hears from the free queue and the pool what happens, in the thread that schedules."""

    def __init__(
        self,
        pool: Pool,
        settings: Settings,
        counters: Counters,
        faults: Faults,
        quick: Quick,
        make_order: MakeOrder = make_order,
    ) -> None:
        self._counters = counters
        self._words = counters.words
        self.faults = faults
        self._quick = quick
        self._queue = pool.free_block_queue
        self._blocks = pool.blocks
        self.watchers = pool._reuse_watchers
        self._block_tokens = pool.hash_block_size
        self._times_ns = counters.times_ns
        self._log_every = self.log_at = settings.log_every  # decisions
        self._budget_ns = settings.decision_budget_us * 1000
        self.policy = make_order(pool, settings)
        self.is_aged_by_caching = self.policy.is_aged_by_caching
        self.hit_blocks = self.policy.hit_blocks
        self.hears_all = self.is_aged_by_caching  # every block that is taken, also those never hit
        self.watched: dict[int, None] = {}  # in the list, in its order
        self.freed_at = quick.freed_at
        self.frees = 0
        self._scanned_blocks = self._demoted_blocks = self._protected_blocks = 0  # as published
        self.boundary: Block = self._queue.fake_free_list_tail  # the first protected one, or the list's end
        _, self.quiet_until = self.policy.front()  # blocks allocated; before that nothing is to be decided

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

    def lose(self, block: BlockId) -> None:
        """The first block of the list is taken, and its content lost."""
        try:
            if self.policy.lose(block):
                self.note_protected()
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("order", error)

    def freed_watched(self, blocks: Sequence[Block]) -> bool:
        """Put freed blocks in their places where some are watched, or stand in the list; those go last.

        False: none is watched, and none stands there. May raise; nothing is in the list then.
        """
        watched, others = self._split(blocks)
        if not watched and not self.watched:
            return False
        end = self._blocks[next(iter(self.watched))] if self.watched else self._queue.fake_free_list_tail
        boundary = end if self.boundary is self._queue.fake_free_list_tail else self.boundary
        if boundary.prev_free_block is None or end.prev_free_block is None:
            raise LookupError(f"block {boundary.block_id} or {end.block_id} is not in the free list")
        self.frees += 1
        for block in others:
            self.freed_at[block.block_id] = self.frees
        never_hit, kept = self.keep(others)
        # Nothing may fail from here on: vLLM would append them a second time.
        insert(self._queue, never_hit, boundary)
        insert(self._queue, kept, end)
        self._append_watched(watched)
        return True

    def keep(self, blocks: Sequence[Block]) -> tuple[list[Block], list[Block]]:
        """Of freed blocks those that were never hit, and the others: they are the policy's from here on."""
        hit_blocks, block_tokens = self.hit_blocks, self._block_tokens
        others: list[Block] = []
        kept: list[Block] = []
        known: list[CachedBlock] = []
        for block in blocks:
            block_id = block.block_id
            if block_id in hit_blocks:
                depth_blocks = (block._block_hash_num_tokens or 0) // block_tokens
                known.append(CachedBlock(block_id, NO_HASH, depth_blocks))
                kept.append(block)
            else:
                others.append(block)
        if kept and self.policy.keep(known):
            self.note_protected()
        return others, kept

    def let_go(self, blocks: Sequence[Block], error: Exception) -> None:
        """Placing freed blocks has failed: they are not the policy's."""
        self.faults.note("free", error)
        with suppress(Exception):
            for block in blocks:
                self.policy.take(block.block_id)
            self.note_protected()

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

    def unwatch(self, blocks: Iterable[BlockId]) -> None:
        """These leave the list, or have left it."""
        for block in blocks:
            self.watched.pop(block, None)

    def note_protected(self) -> None:
        """Other blocks are protected than before."""
        quick = self._quick
        first, self.quiet_until = self.policy.front()
        if first is None:
            self.boundary, quick.protected_freed_at = self._queue.fake_free_list_tail, 0
        else:
            self.boundary, quick.protected_freed_at = self._blocks[first], self.freed_at[first]
        if self.quiet_until < quick.due_at or quick.due_at < quick.tick_at:  # else it is due when it was
            quick.set_clock()
            self.plan()

    def count_protected(self) -> None:
        """How many there are now; the word is shared with other pools."""
        protected_blocks = self.policy.protected_blocks
        self._words[_PROTECTED] += protected_blocks - self._protected_blocks
        self._protected_blocks = protected_blocks

    def plan(self) -> None:
        """Until when blocks may be taken without a word here; the clock is right."""
        self._quick.plan(0 if self.hears_all else self.quiet_until)

    def moved(self, source: Block, target: Block, *, was_hit: bool) -> None:
        """The content of ``source``, in use, belongs to ``target`` now."""
        self.policy.forget(source.block_id)
        if self.is_aged_by_caching:
            self.cached([target])
        if was_hit:
            self._quick.set_clock()
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
        self._quick.plan(0)  # its clock has started anew
        self.watched.clear()
        self._note_moves()

    def retire(self) -> None:
        """The policy is put away: nothing is protected by it."""
        self.policy.on_reset()
        self._note_moves()
        self.count_protected()

    def _split(self, blocks: Sequence[Block]) -> tuple[Sequence[Block], Sequence[Block]]:
        """Watched blocks, and the others."""
        watchers = self.watchers
        watched = [block for block in blocks if block.block_id in watchers]
        return watched, [block for block in blocks if block.block_id not in watchers]

    def _append_watched(self, blocks: Sequence[Block]) -> None:
        if blocks:
            insert(self._queue, blocks, before=self._queue.fake_free_list_tail)
            self.hears_all = True
            self._quick.set_clock()
            self.plan()
            self.watched.update((block.block_id, None) for block in blocks)

    def _note_moves(self) -> None:
        """The policy has moved blocks: bring up to date what is said of them."""
        policy, words = self.policy, self._words
        words[_SCANNED] += policy.scanned_blocks - self._scanned_blocks
        words[_DEMOTED] += policy.demoted_blocks - self._demoted_blocks
        self._scanned_blocks, self._demoted_blocks = policy.scanned_blocks, policy.demoted_blocks
        self.note_protected()

    def log(self) -> None:
        """What has been done so far, in one line."""
        counts = self._counters.read()
        self.log_at = counts["decisions"] + self._log_every
        logger.info(
            "%s: %d decisions, %d reordered, %d blocks demoted, %d scanned, %d protected now, "
            "evicted: %d hit, %d never hit; %d evicted tokens requested again",
            self.faults.system,
            counts["decisions"],
            counts["reordered_decisions"],
            counts["demoted_blocks"],
            counts["scanned_blocks"],
            self.policy.protected_blocks,
            counts["evicted_hit"],
            counts["evicted_never_hit"],
            counts["evicted_then_requested_tokens"],
        )
