"""What a hooked pool tells: counters in both modes, and the keeper while the policy is active.

The usual case of each hook is not here, but in ``classes.py``.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

from keepwarm.vllm.counters import HIT, MODES, NEVER_HIT, SLOT, Counters
from keepwarm.vllm.faults import Faults
from keepwarm.vllm.keeper import Keeper
from keepwarm.vllm.orders import MakeOrder, make_order
from keepwarm.vllm.quick import Quick, Turnover
from keepwarm.vllm.requested import EvictedHashes
from keepwarm.vllm.settings import Settings
from keepwarm.vllm.stock import Block, Pool
from keepwarm.vllm.victims import Victims

logger = logging.getLogger("vllm.computecache")

LEAST_REMEMBERED_HASHES = 16_384  # evicted ones, beside as many as the pool has blocks
TICK_EVERY = 256  # blocks: so often counts are published, and a decision that looks at nothing is timed
PUBLISH_EVERY_S = 0.1  # where requests end more often than that
_DECISIONS = SLOT["decisions"]
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
        self.lost = EvictedHashes(max(pool.num_gpu_blocks, LEAST_REMEMBERED_HASHES))
        self.quick = Quick(pool, counters.words, self.lost)
        self._was_hit = self.quick.was_hit
        self.faults = Faults(counters, settings.fault_limit, self.trip)
        self.keeper: Keeper | None = None
        if settings.mode == "active":
            self.keeper = Keeper(pool, settings, counters, self.faults, self.quick, make_order)
            self.quick.clock = self.keeper.policy
            self.quick.victims = Victims(pool.free_block_queue, self.quick, self.keeper)
            self.quick.hears_of_answers = self.keeper.is_aged_by_caching
        self._counted_at = 0  # on the clock: allocations until then are counted
        counters.on_read.append(self._bring_up_to_date)

    def allocating(self, new_blocks: int) -> None:
        """So many blocks are about to be taken from the head of the free list; something is due before."""
        try:
            allocated_blocks = self._count() + new_blocks
            keeper, quick = self.keeper, self.quick
            is_due = allocated_blocks >= quick.tick_at
            if keeper is not None:
                self._words[_DECISIONS] += 1
                if is_due or allocated_blocks >= keeper.quiet_until:
                    self._counted_at = allocated_blocks
                    keeper.decide(new_blocks)
            # A policy has counted too, unless it failed. The allocation is counted above, so not once more.
            quick.clock.allocated_blocks = self._counted_at = quick.due_at = allocated_blocks
            quick.left = 0
            (quick.victims or quick).take(new_blocks, quick.head.next_free_block)
            if is_due:
                self._tick()
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("evict", error)
        self._plan()

    def _count(self) -> int:
        """The allocations that were made without a word here: one block each, but for ``more_blocks``.

        What the clock shows, which is right from here on.
        """
        quick = self.quick
        allocated_blocks = quick.set_clock()
        if self.keeper is not None:
            self._words[_DECISIONS] += max(0, allocated_blocks - self._counted_at - quick.more_blocks)
        self._counted_at, quick.more_blocks = allocated_blocks, 0
        return allocated_blocks

    def _bring_up_to_date(self) -> None:
        """The words, before they are read."""
        with suppress(Exception):  # a fault would be counted in the words, too
            self._count()
            if self.keeper is not None:
                self.keeper.count_protected()

    def _plan(self) -> None:
        """Until when blocks may be taken without a word here; the clock may have been set."""
        quick, keeper = self.quick, self.keeper
        self._counted_at, quick.more_blocks = quick.clock.allocated_blocks, 0
        try:
            if keeper is None:
                quick.plan(quick.tick_at)
            else:
                keeper.plan()
        except Exception:  # noqa: BLE001 - noted where the policy said it
            quick.left, quick.due_at = 0, self._counted_at

    def _tick(self) -> None:
        """What is done now and then: let readers see the counts, log, keep what is remembered small."""
        keeper, decisions = self.keeper, self._words[_DECISIONS]
        wait = TICK_EVERY
        if keeper is not None:
            if decisions >= keeper.log_at:
                keeper.log()
            wait = max(1, min(wait, keeper.log_at - decisions))
        self.quick.tick_at = self.quick.clock.allocated_blocks + wait
        if len(self.lost.recent) >= self.lost.half:
            self.lost.turn()
        if (now_s := monotonic()) >= self.quick.publish_at_s:
            self._publish(now_s)

    def cached(self, blocks: Sequence[Block], *, is_prompt: bool) -> None:
        """These got their hashes, some perhaps before; of prompts also what was evicted and is asked for."""
        try:
            if is_prompt:
                for block in blocks:
                    if self.lost.holds(block._block_hash):
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
                self._words[HIT if self._was_hit[block.block_id] else NEVER_HIT] += 1
                self._was_hit[block.block_id] = 0
                if self.keeper is not None:
                    self.keeper.evicted(block)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("evict", error)

    def freed(self) -> None:
        """A request has let its blocks go, perhaps the last: the counts may stay for long as they are."""
        try:
            self._publish(monotonic())
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("free", error)

    def reset(self) -> None:
        """No block has content any more, because somebody wanted it so."""
        try:
            self._count()
            self.lost.clear()
            self._was_hit[:] = bytes(len(self._was_hit))
            if self.keeper is not None:
                self.keeper.reset()
            self._counters.publish()
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("reset", error)
        self.quick.tick_at = 0
        self._plan()

    def _publish(self, now_s: float) -> None:
        self.quick.publish_at_s = now_s + PUBLISH_EVERY_S
        self._counters.publish()

    def _requested_again(self, block: Block) -> None:
        block_hash = block._block_hash
        self.lost.discard(block_hash)
        # vLLM keeps duplicates: content that another block holds was not lost.
        if self._pool.cached_block_hash_to_block.get_one_block(block_hash) is block:
            self._words[_REQUESTED] += self._pool.hash_block_size

    def trip(self) -> None:
        """Put the policy away until the engine starts anew: from here on the queue is vLLM's own."""
        if self.keeper is None:
            return
        self._count()
        keeper, self.keeper = self.keeper, None
        self.quick.clock, self.quick.victims = Turnover(), None
        self.quick.tick_at = 0
        self._plan()
        queue: Any = self._queue
        queue.__class__ = type(queue).stock
        self._counters.set("tripped", 1)
        self._counters.set("mode", 1 + MODES.index("lru"))
        keeper.retire()
        logger.warning(
            "%s: too many faults, the policy is put away until restart: stock LRU from here",
            self.faults.system,
        )
