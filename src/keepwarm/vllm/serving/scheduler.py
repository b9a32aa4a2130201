"""Scheduler classes for ``--scheduler-cls``; ``KEEPWARM_SCHEDULING`` makes them the default.

vLLM's own ``schedule()`` runs unchanged: what is ours is the queue it takes waiting requests from, and the
cap on one request's tokens in a step.
"""

from __future__ import annotations

import logging
from typing import Any

from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler

from keepwarm.vllm.serving.desk import Desk
from keepwarm.vllm.serving.relied_on import why_not_scheduling
from keepwarm.vllm.serving.state import begin_engine

logger = logging.getLogger("vllm.cachewise")


def scheduler_class(stock_class: Any) -> Any:  # noqa: C901 - a method each, hardly a branch
    """A subclass of vLLM's scheduler that tells its ``Desk`` what happens; ``cachewise`` is None without."""

    class KeepwarmScheduler(stock_class):  # type: ignore[misc]
        cachewise: Desk | None = None

        def __init__(self, *args: Any, **options: Any) -> None:
            state = begin_engine()
            stock_class.__init__(self, *args, **options)
            try:
                reason = why_not_scheduling()
                if reason:
                    logger.warning("CacheWise: not installed, stock scheduling: %s", reason)
                else:
                    self.cachewise = Desk(self, state)
            except Exception as error:  # noqa: BLE001 - a server starts whatever happens here
                logger.warning("CacheWise: not installed, stock scheduling: %r", error)

        def add_request(self, request: Any) -> None:
            if self.cachewise is not None and request.request_id not in self.requests:
                self.cachewise.arrived(request)
            stock_class.add_request(self, request)

        def schedule(self, throttle_prefills: bool = False) -> Any:
            desk = self.cachewise
            if desk is None:
                return stock_class.schedule(self, throttle_prefills)
            cap_tokens = desk.begin_step()
            config = self.scheduler_config
            own_cap_tokens = config.long_prefill_token_threshold
            if cap_tokens and not 0 < own_cap_tokens <= cap_tokens:
                config.long_prefill_token_threshold = cap_tokens
            try:
                output = stock_class.schedule(self, throttle_prefills)
            finally:
                config.long_prefill_token_threshold = own_cap_tokens
            desk.scheduled(output)
            return output

        def update_from_output(self, scheduler_output: Any, model_runner_output: Any) -> Any:
            outputs = stock_class.update_from_output(self, scheduler_output, model_runner_output)
            if self.cachewise is not None:
                self.cachewise.computed(scheduler_output)
            return outputs

        def _free_request(self, request: Any, delay_free_blocks: bool = False) -> Any:
            answer = stock_class._free_request(self, request, delay_free_blocks)
            if self.cachewise is not None:
                self.cachewise.ended(request)
            return answer

        def _handle_stopped_request(self, request: Any) -> Any:
            if self.cachewise is not None and request.resumable:
                self.cachewise.waits_elsewhere(request)
            return stock_class._handle_stopped_request(self, request)

        def shutdown(self) -> None:
            if self.cachewise is not None:
                self.cachewise.close()
            stock_class.shutdown(self)

    return KeepwarmScheduler


KeepwarmScheduler = scheduler_class(Scheduler)
KeepwarmAsyncScheduler = scheduler_class(AsyncScheduler)
