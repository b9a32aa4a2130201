"""How the policy gets into a ``BlockPool`` of vLLM, and out of it again.

A pool is made as an instance of a subclass of its own class, and in mode ``active`` so is its free queue. The
subclasses call the stock method and tell ``Hooks`` and ``Keeper`` what happened. Two
things differ: the policy may move blocks before some are taken, and chooses where freed ones are inserted.
To put the policy away, the queue gets its stock class back: what runs then is vLLM's code, not code that
imitates it, on a list that stock vLLM could have.

What is free, reference counts, the hash map, KV events and block tables stay vLLM's. Source: ``BlockPool``
and ``FreeKVCacheBlockQueue`` of vLLM 0.32.0; ``fingerprints.py`` holds what is relied on.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from keepwarm.vllm.classes import pool_class, queue_class
from keepwarm.vllm.counters import MODES, RULES, Counters
from keepwarm.vllm.hooks import Hooks
from keepwarm.vllm.orders import MakeOrder, make_order
from keepwarm.vllm.settings import Settings

logger = logging.getLogger("vllm.computecache")

GPU_MEDIUM = "GPU"  # vllm.distributed.kv_events.MEDIUM_GPU, also where the platform is a CPU


def _is_wanted(enable_caching: bool, medium: str) -> bool:
    return enable_caching and medium == GPU_MEDIUM


def _hooked_queue(stock_queue: Any) -> Any:
    """The same list under another head: a queue that was made as what it is, not turned into it."""
    stock_type: Any = type(stock_queue)
    hooked = queue_class(stock_type)
    queue = hooked.__new__(hooked)
    for name, value in vars(stock_queue).items():
        setattr(queue, name, value)
    return queue


def attach(
    pool: Any, settings: Settings, counters: Counters, make_order: MakeOrder = make_order
) -> Hooks | None:
    """Let ``settings`` act on a pool just made, with nothing handed out but the null block.

    Mutates the pool; in ``active`` its free queue is another object from here on. None for a pool that caches
    nothing, or lies in other memory than the GPU's, as those that KV blocks are offloaded to. May raise, and
    nothing is changed then.
    """
    if not _is_wanted(pool.enable_caching, pool.medium):
        logger.info("ComputeCache: a pool without prefix caching, or outside the GPU, is left as it is")
        return None
    made_type: Any = type(pool)
    hooked_pool = made_type if hasattr(pool, "stock") else pool_class(made_type)
    stock_queue: Any = pool.free_block_queue
    if settings.mode == "active":
        pool.free_block_queue = _hooked_queue(stock_queue)
    try:
        hooks = Hooks(pool, settings, counters, make_order)
    except Exception:
        pool.free_block_queue = stock_queue
        raise
    if hooks.keeper is not None:
        pool.free_block_queue.computecache = hooks.keeper
    pool.computecache, pool.quick = hooks, hooks.quick
    if made_type is not hooked_pool:
        pool.__class__ = hooked_pool
    line = settings.line()
    if hooks.keeper is not None and hooks.keeper.policy.by_session:
        hooks.faults.system = "CacheWise"
        line = f"eviction=cachewise {settings.limits_line()}"
        counters.set("by_session", 1)
    counters.set("rule", 1 + RULES.index(settings.rule))
    counters.set("scan_limit", settings.scan_limit)
    counters.set("mode", 1 + MODES.index(settings.mode))
    logger.info("%s: %s capacity_blocks=%d", hooks.faults.system, line, pool.num_gpu_blocks - 1)
    return hooks


def hook(pool_type: Any, on_made: Callable[[Any], None]) -> None:
    """Make pools of exactly this type as instances of its ``pool_class``; ``on_made`` attaches each.

    Mutates the type. To change the class of a pool once it is made would make it a sixth slower at all it
    does: CPython then keeps its attributes in a dictionary of their own.
    """
    hooked = pool_class(pool_type)
    hooked.on_made = staticmethod(on_made)
    parameters = inspect.signature(pool_type.__init__)

    def new(made_type: Any, *args: Any, **options: Any) -> Any:
        wanted = False
        if made_type is pool_type:  # a subclass may be made otherwise
            with suppress(Exception):
                given = parameters.bind(None, *args, **options)
                given.apply_defaults()
                wanted = _is_wanted(given.arguments["enable_caching"], given.arguments["medium"])
        return object.__new__(hooked if wanted else made_type)

    pool_type.__new__ = staticmethod(new)
