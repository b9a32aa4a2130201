"""On whose behalf a pool is called: a subclass of vLLM's ``KVCacheManager`` that notes it.

A block pool does not hear for which request blocks are taken, used and freed; its cache manager does.
Managers are made as pools are, as instances of a subclass of their own class: it notes the request in the
order of its pool and calls the stock method. Noting is an assignment: nothing can fail, and nobody reads it
once the policy was put away.

Source: ``vllm/v1/core/kv_cache_manager.py`` of vLLM 0.32.0.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from keepwarm.vllm.session_order import SessionOrder


@cache
def manager_class(stock_class: Any) -> Any:
    """A subclass of ``KVCacheManager`` whose pool's order knows the request, and changes nothing."""

    class CacheWiseManager(stock_class):  # type: ignore[misc]
        stock = stock_class
        order: SessionOrder

        def __init__(self, *args: Any, **options: Any) -> None:
            stock_class.__init__(self, *args, **options)
            order = _order_of(self.block_pool)
            if order is None:
                self.__class__ = stock_class
            else:
                self.order = order

        # Called for every request of every step: gathering its arguments would cost more than the call.
        def allocate_slots(
            self,
            request: Any,
            num_new_tokens: int,
            num_new_computed_tokens: int = 0,
            new_computed_blocks: Any = None,
            num_lookahead_tokens: int = 0,
            num_external_computed_tokens: int = 0,
            delay_cache_blocks: bool = False,
            num_encoder_tokens: int = 0,
            full_sequence_must_fit: bool = False,
            reserved_blocks: int = 0,
            has_scheduled_reqs: bool = True,
            skip_zeroing_group_ids: tuple[int, ...] = (),
        ) -> Any:
            self.order.request = request
            return stock_class.allocate_slots(
                self,
                request,
                num_new_tokens,
                num_new_computed_tokens,
                new_computed_blocks,
                num_lookahead_tokens,
                num_external_computed_tokens,
                delay_cache_blocks,
                num_encoder_tokens,
                full_sequence_must_fit,
                reserved_blocks,
                has_scheduled_reqs,
                skip_zeroing_group_ids,
            )

        def cache_blocks(self, request: Any, num_computed_tokens: int) -> None:
            self.order.request = request
            stock_class.cache_blocks(self, request, num_computed_tokens)

        def free(self, request: Any) -> None:
            self.order.request = request
            stock_class.free(self, request)

    return CacheWiseManager


def hook_managers(manager_type: Any) -> None:
    """Make managers of exactly this type as instances of its ``manager_class``. Mutates the type."""
    hooked = manager_class(manager_type)

    def new(made_type: Any, *_: Any, **__: Any) -> Any:
        return object.__new__(hooked if made_type is manager_type else made_type)

    manager_type.__new__ = staticmethod(new)


def _order_of(pool: Any) -> SessionOrder | None:
    """That of a pool that was attached with one."""
    keeper = getattr(getattr(pool, "computecache", None), "keeper", None)
    order = getattr(keeper, "policy", None)
    return order if isinstance(order, SessionOrder) else None
