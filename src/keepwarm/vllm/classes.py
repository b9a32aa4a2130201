"""The subclasses of vLLM's block pool and free queue: they call the stock method and tell what happened."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from keepwarm.vllm.hooks import Hooks
from keepwarm.vllm.keeper import Keeper
from keepwarm.vllm.stock import Block


@cache
def pool_class(stock_class: Any) -> Any:  # noqa: C901 - a method each, hardly a branch
    """A subclass of ``BlockPool`` that tells its ``Hooks`` what happens, and changes nothing."""

    class ComputeCachePool(stock_class):  # type: ignore[misc]
        stock = stock_class
        on_made: Callable[[Any], None]
        computecache: Hooks

        def __init__(self, *args: Any, **options: Any) -> None:
            stock_class.__init__(self, *args, **options)
            type(self).on_made(self)
            if not hasattr(self, "computecache"):
                self.__class__ = stock_class

        def get_new_blocks(self, num_blocks: int) -> list[Block]:
            if 0 < num_blocks <= self.free_block_queue.num_free_blocks:  # else vLLM says no
                self.computecache.allocating(num_blocks)
            blocks: list[Block] = stock_class.get_new_blocks(self, num_blocks)
            return blocks

        def touch(self, blocks: Sequence[Block]) -> None:
            stock_class.touch(self, blocks)
            self.computecache.touched(blocks)

        def free_blocks(self, ordered_blocks: Iterable[Block]) -> None:
            stock_class.free_blocks(self, ordered_blocks)
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
            hooks = self.computecache
            prompt_tokens = getattr(request, "num_prompt_tokens", math.inf)  # nothing may be raised here
            if hooks.hears_of_answers or num_cached_blocks * block_size < prompt_tokens:
                new_blocks = blocks[num_cached_blocks:num_full_blocks]
                hooks.cached(request, new_blocks, num_cached_blocks * block_size)

        def cache_partial_block(self, request: Any, block: Block, *args: Any, **options: Any) -> Any:
            key = stock_class.cache_partial_block(self, request, block, *args, **options)
            self.computecache.cached(request, [block], 0)
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
            if not self.computecache.freed((block,)):
                stock_class.append(self, block)

        def append_n(self, blocks: list[Block]) -> None:
            if blocks and not self.computecache.freed(blocks):
                stock_class.append_n(self, blocks)

        def prepend_n(self, blocks: list[Block]) -> None:
            keeper = self.computecache
            stock_class.prepend_n(self, keeper.freed_blank(blocks) if keeper.watchers and blocks else blocks)

    return ComputeCacheQueue
