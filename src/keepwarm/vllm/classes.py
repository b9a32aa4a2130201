"""The subclasses of vLLM's block pool and free queue: they call the stock method and tell what happened.

What happens in nearly every step, blocks never hit that are taken one by one, hit and freed, they do
themselves: a step with 64 requests meets some twenty hooks, and each call more within one costs vLLM half a
microsecond there (docs/design/plugin.md). All else is told to ``Hooks`` and ``Keeper``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from time import monotonic
from typing import Any

from keepwarm.policies.base import BlockId
from keepwarm.vllm.counters import HIT, NEVER_HIT, REORDERED, UNHASHED
from keepwarm.vllm.hooks import Hooks
from keepwarm.vllm.keeper import Keeper
from keepwarm.vllm.quick import Quick
from keepwarm.vllm.stock import Block, insert


@cache
def pool_class(stock_class: Any) -> Any:  # noqa: C901 - a method each, hardly a branch
    """A subclass of ``BlockPool`` that tells its ``Hooks`` what happens, and changes nothing."""

    class ComputeCachePool(stock_class):  # type: ignore[misc]
        stock = stock_class
        on_made: Callable[[Any], None]
        computecache: Hooks
        quick: Quick

        def __init__(self, *args: Any, **options: Any) -> None:
            stock_class.__init__(self, *args, **options)
            type(self).on_made(self)
            if not hasattr(self, "computecache"):
                self.__class__ = stock_class

        def get_new_blocks(self, num_blocks: int) -> list[Block]:
            quick = self.quick
            try:
                left, block = quick.left - num_blocks, quick.head.next_free_block
                if num_blocks == 1 and left > 0 and block is not quick.tail:
                    quick.left = left
                    block_hash = block._block_hash
                    if block_hash is None:
                        quick.words[UNHASHED] += 1
                    else:
                        quick.lost.recent[block_hash] = None
                        block_id = block.block_id
                        if quick.was_hit[block_id]:
                            quick.was_hit[block_id] = 0
                            quick.words[HIT] += 1
                            if quick.victims is not None:
                                quick.victims.take_hit(block)
                        else:
                            quick.words[NEVER_HIT] += 1
                            oldest = quick.protected_freed_at
                            if oldest and quick.freed_at[block_id] > oldest:
                                quick.words[REORDERED] += 1
                elif 0 < num_blocks <= self.free_block_queue.num_free_blocks:  # else vLLM says no
                    if left > 0:
                        quick.left = left
                        quick.more_blocks += num_blocks - 1
                        (quick.victims or quick).take(num_blocks, block)
                    else:
                        self.computecache.allocating(num_blocks)
            except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
                self.computecache.faults.note("evict", error)
            blocks: list[Block] = stock_class.get_new_blocks(self, num_blocks)
            return blocks

        def touch(self, blocks: Sequence[Block]) -> None:
            stock_class.touch(self, blocks)
            hooks = self.computecache
            try:
                quick, keeper = self.quick, hooks.keeper
                was_hit = quick.was_hit
                hit: list[BlockId] = []
                for block in blocks:
                    if block._block_hash is not None:  # else it holds nothing that could have been hit
                        was_hit[block.block_id] = 1
                        if keeper is not None:
                            hit.append(block.block_id)
                if keeper is not None and blocks:
                    used = hit if len(hit) == len(blocks) else [block.block_id for block in blocks]
                    quick.set_clock()
                    if keeper.policy.use(used, hit):
                        keeper.note_protected()
                    if keeper.watched:
                        keeper.unwatch(used)
            except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
                hooks.faults.note("hit", error)

        def free_blocks(self, ordered_blocks: Iterable[Block]) -> None:
            stock_class.free_blocks(self, ordered_blocks)
            quick = self.quick
            if (
                self.free_block_queue.num_free_blocks >= quick.idle_blocks
                or monotonic() >= quick.publish_at_s
            ):
                self.computecache.freed()

        def cache_full_blocks(
            self,
            request: Any,
            blocks: list[Block],
            num_cached_blocks: int,
            num_full_blocks: int,
            block_size: int,
            kv_cache_group_id: int,
            block_mask: list[bool] | None = None,
        ) -> None:
            stock_class.cache_full_blocks(
                self,
                request,
                blocks,
                num_cached_blocks,
                num_full_blocks,
                block_size,
                kv_cache_group_id,
                block_mask,
            )
            quick = self.quick
            try:
                is_prompt = num_cached_blocks * block_size < request.num_prompt_tokens
                if quick.hears_of_answers:
                    self.computecache.cached(blocks[num_cached_blocks:num_full_blocks], is_prompt=is_prompt)
                elif is_prompt:
                    recent, older = quick.lost.recent, quick.lost.older
                    for block in blocks[num_cached_blocks:num_full_blocks]:
                        if (block_hash := block._block_hash) in recent or block_hash in older:
                            self.computecache.cached([block], is_prompt=True)
            except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
                self.computecache.faults.note("cache", error)

        def cache_partial_block(self, request: Any, block: Block, *args: Any, **options: Any) -> Any:
            key = stock_class.cache_partial_block(self, request, block, *args, **options)
            self.computecache.cached([block], is_prompt=True)
            return key

        def move_block_hashes(self, src_block: Block, dst_block: Block) -> None:
            stock_class.move_block_hashes(self, src_block, dst_block)
            self.computecache.moved(src_block, dst_block)

        def evict_blocks(self, block_ids: set[int]) -> None:
            contents = self.computecache.contents(block_ids)
            stock_class.evict_blocks(self, block_ids)
            self.computecache.dropped(contents)

        def reset_prefix_cache(self) -> bool:
            done: bool = stock_class.reset_prefix_cache(self)
            if done:
                self.computecache.reset()
            return done

    return ComputeCachePool


@cache
def queue_class(stock_class: Any) -> Any:
    """A subclass of ``FreeKVCacheBlockQueue`` that keeps the policy's order.

    Stock methods are called by their class: when a keeper trips, ``self`` has its stock class back.
    """

    class ComputeCacheQueue(stock_class):  # type: ignore[misc]
        stock = stock_class
        computecache: Keeper

        def append(self, block: Block) -> None:
            self.append_n([block])

        def append_n(self, blocks: list[Block]) -> None:
            keeper = self.computecache
            kept: list[Block] = []
            try:
                if not blocks or ((keeper.watchers or keeper.watched) and keeper.freed_watched(blocks)):
                    return
                hit_blocks, freed_at, was_hit = keeper.hit_blocks, keeper.freed_at, False
                keeper.frees = now = keeper.frees + 1
                for block in blocks:
                    block_id = block.block_id
                    freed_at[block_id] = now
                    if block_id in hit_blocks:
                        was_hit = True
                boundary = keeper.boundary
                last = boundary.prev_free_block
                if last is None:
                    raise LookupError(f"block {boundary.block_id} is not in the free list")
                if was_hit:
                    blocks, kept = keeper.keep(blocks)
            except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
                keeper.let_go(blocks, error)
                stock_class.append_n(self, blocks)
                return
            for block in blocks:  # as vLLM does, but before the boundary
                block.prev_free_block = last
                last.next_free_block = block
                last = block
            last.next_free_block = boundary
            boundary.prev_free_block = last
            self.num_free_blocks += len(blocks)
            if kept:
                insert(self, kept, before=self.fake_free_list_tail)

        def prepend_n(self, blocks: list[Block]) -> None:
            keeper = self.computecache
            stock_class.prepend_n(self, keeper.freed_blank(blocks) if keeper.watchers and blocks else blocks)

    return ComputeCacheQueue
