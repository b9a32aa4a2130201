"""How the policy gets into a ``BlockPool`` of vLLM, and out of it again.

A pool that is attached becomes an instance of a subclass of its own class, and in mode ``active`` its free
queue does, too. The subclasses call the stock method and tell ``Hooks`` and ``Keeper`` what happened. Two
things differ: the policy may move blocks before some are taken, and chooses where freed ones are inserted.
To put the policy away, the queue gets its stock class back: what runs then is vLLM's code, not code that
imitates it, on a list that stock vLLM could have.

What is free, reference counts, the hash map, KV events and block tables stay vLLM's. Source: ``BlockPool``
and ``FreeKVCacheBlockQueue`` of vLLM 0.32.0; ``fingerprints.py`` holds what is relied on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Any

from keepwarm.vllm.counters import EVICTION_CLASSES, MODES, RULES, SLOT, Counters
from keepwarm.vllm.faults import Faults
from keepwarm.vllm.keeper import Keeper
from keepwarm.vllm.requested import EvictedHashes
from keepwarm.vllm.settings import Settings
from keepwarm.vllm.stock import Block, Pool

logger = logging.getLogger("vllm.computecache")

GPU_MEDIUM = "GPU"  # vllm.distributed.kv_events.MEDIUM_GPU, also where the platform is a CPU
LEAST_REMEMBERED_HASHES = 16_384  # evicted ones, beside as many as the pool has blocks
_UNHASHED, _NEVER_HIT, _HIT = (SLOT[f"evicted_{name}"] for name in EVICTION_CLASSES)
_REQUESTED = SLOT["evicted_then_requested_tokens"]


class Hooks:
    """What one pool tells: counters in both modes, the keeper while the policy is active. Nothing raises."""

    def __init__(self, pool: Pool, settings: Settings, counters: Counters) -> None:
        self._pool = pool
        self._queue = pool.free_block_queue
        self._words = counters.words
        self._counters = counters
        self._was_hit = bytearray(pool.num_gpu_blocks)
        self.lost = EvictedHashes(max(pool.num_gpu_blocks, LEAST_REMEMBERED_HASHES))
        self.faults = Faults(counters, settings.fault_limit, self.trip)
        self.keeper: Keeper | None = None
        if settings.mode == "active":
            self.keeper = Keeper(pool, settings, counters, self.faults)
        self.hears_of_caching = self.keeper is not None and self.keeper.is_aged_by_caching

    def allocating(self, new_blocks: int) -> None:
        """So many blocks are about to be taken from the head of the free list; what they hold is lost."""
        if not 0 < new_blocks <= self._queue.num_free_blocks:
            return
        if self.keeper is not None:
            self.keeper.allocating(new_blocks)
        try:
            cached: list[Block] = []
            hit: list[Block] = []
            was_hit, lost, words = self._was_hit, self.lost.recent, self._words
            block = self._queue.fake_free_list_head.next_free_block
            for _ in range(new_blocks):
                block_hash = block.block_hash
                if block_hash is not None:
                    cached.append(block)
                    lost[block_hash] = None
                    if was_hit[block.block_id]:
                        hit.append(block)
                        was_hit[block.block_id] = 0
                block = block.next_free_block
            if len(lost) >= self.lost.half:
                self.lost.turn()
            # An operation on shared words costs as much as a call: none for nothing.
            if blank := new_blocks - len(cached):
                words[_UNHASHED] += blank
            if never_hit := len(cached) - len(hit):
                words[_NEVER_HIT] += never_hit
            if hit:
                words[_HIT] += len(hit)
            if self.keeper is not None:
                self.keeper.taking(new_blocks, cached, hit, block)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("evict", error)

    def touched(self, blocks: Sequence[Block]) -> None:
        """A request uses blocks; those without a hash hold nothing that could have been hit."""
        try:
            hit = [block for block in blocks if block.block_hash is not None]
            for block in hit:
                self._was_hit[block.block_id] = 1
            if self.keeper is not None and blocks:
                self.keeper.used(blocks, hit)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("hit", error)

    def cached(self, block_hash: Any, block: Block) -> None:
        """A block got a hash that ages it, or one that was evicted."""
        try:
            # vLLM keeps duplicates: content that another block holds was not lost.
            found = self._pool.cached_block_hash_to_block.get_one_block(block_hash)
            if self.lost.discard(block_hash) and found is block:
                self._words[_REQUESTED] += self._pool.hash_block_size
            if self.keeper is not None and self.hears_of_caching:
                self.keeper.cached(block)
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

    def reset(self) -> None:
        """No block has content any more, because somebody wanted it so."""
        try:
            self.lost.clear()
            self._was_hit[:] = bytes(len(self._was_hit))
            if self.keeper is not None:
                self.keeper.reset()
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self.faults.note("reset", error)

    def trip(self) -> None:
        """Put the policy away until the engine starts anew: from here on the queue is vLLM's own."""
        keeper, self.keeper = self.keeper, None
        if keeper is None:
            return
        queue: Any = self._queue
        queue.__class__ = type(queue).stock
        self.hears_of_caching = False
        self._counters.set("tripped", 1)
        self._counters.set("mode", 1 + MODES.index("lru"))
        keeper.retire()
        logger.warning(
            "ComputeCache: too many faults, the policy is put away until restart: stock LRU from here"
        )


def attach(pool: Any, settings: Settings, counters: Counters) -> Hooks | None:
    """Let ``settings`` act on a pool just made, with nothing handed out but the null block.

    Mutates the classes of the pool and of its free queue. None for a pool that caches nothing, or lies in
    other memory than the GPU's, as those that KV blocks are offloaded to. May raise, and nothing is changed
    then.
    """
    if not pool.enable_caching or pool.medium != GPU_MEDIUM:
        logger.info("ComputeCache: a pool without prefix caching, or outside the GPU, is left as it is")
        return None
    hooks = Hooks(pool, settings, counters)
    queue = pool.free_block_queue
    stock_pool: Any = type(pool)
    hooked_pool = pool_class(stock_pool)
    if settings.mode == "active":
        stock_queue: Any = type(queue)
        hooked_queue = queue_class(stock_queue)
        queue.computecache = hooks.keeper
        queue.__class__ = hooked_queue
    pool.computecache = hooks
    pool.__class__ = hooked_pool
    counters.set("mode", 1 + MODES.index(settings.mode))
    counters.set("rule", 1 + RULES.index(settings.rule))
    counters.set("scan_limit", settings.scan_limit)
    logger.info("ComputeCache: %s capacity_blocks=%d", settings.line(), pool.num_gpu_blocks - 1)
    return hooks


@cache
def pool_class(stock_class: Any) -> Any:
    """A subclass of ``BlockPool`` that tells its ``Hooks`` what happens, and changes nothing."""

    class ComputeCachePool(stock_class):  # type: ignore[misc]
        stock = stock_class
        computecache: Hooks

        def get_new_blocks(self, num_blocks: int) -> list[Block]:
            self.computecache.allocating(num_blocks)
            blocks: list[Block] = stock_class.get_new_blocks(self, num_blocks)
            return blocks

        def touch(self, blocks: Sequence[Block]) -> None:
            stock_class.touch(self, blocks)
            self.computecache.touched(blocks)

        def _insert_block_hash(
            self, block_hash_with_group_id: Any, block: Block, num_tokens: int | None
        ) -> None:
            stock_class._insert_block_hash(self, block_hash_with_group_id, block, num_tokens)
            hooks, block_hash = self.computecache, block_hash_with_group_id
            lost = hooks.lost
            if block_hash in lost.recent or block_hash in lost.older or hooks.hears_of_caching:
                hooks.cached(block_hash, block)

        def move_block_hashes(self, src_block: Block, dst_block: Block) -> None:
            stock_class.move_block_hashes(self, src_block, dst_block)
            self.computecache.moved(src_block, dst_block)

        def evict_blocks(self, block_ids: set[int]) -> None:
            known = [self.blocks[index] for index in block_ids if index < len(self.blocks)]
            contents = [(block.block_hash, block) for block in known if block.block_hash is not None]
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
            if blocks:
                stock_class.prepend_n(self, self.computecache.freed_blank(blocks))

    return ComputeCacheQueue


def wrap_constructor(pool_type: Any, on_made: Callable[[Any], None]) -> None:
    """Let ``on_made`` hear of each pool of exactly this type, once it is made. Mutates the class."""
    stock_init = pool_type.__init__

    @wraps(stock_init)
    def init(self: Any, *args: Any, **options: Any) -> None:
        stock_init(self, *args, **options)
        if type(self) is pool_type:  # a subclass is not done yet, and may be made otherwise
            on_made(self)

    pool_type.__init__ = init
