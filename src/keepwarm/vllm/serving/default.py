"""Makes our scheduler classes vLLM's choice where it would choose its own."""

from __future__ import annotations

import logging
from typing import Any

logger = logging.getLogger("vllm.cachewise")


def make_default() -> None:
    """Sync or async stays vLLM's choice; a class that an operator or a model asks for stays, too.

    Mutates ``SchedulerConfig``.
    """
    from vllm.config.scheduler import SchedulerConfig

    stock_choice = SchedulerConfig.get_scheduler_cls

    def get_scheduler_cls(config: Any) -> Any:
        chosen = stock_choice(config)
        from vllm.v1.core.sched.async_scheduler import AsyncScheduler
        from vllm.v1.core.sched.scheduler import Scheduler

        from keepwarm.vllm.serving.scheduler import KeepwarmAsyncScheduler, KeepwarmScheduler

        if chosen is Scheduler:
            return KeepwarmScheduler
        if chosen is AsyncScheduler:
            return KeepwarmAsyncScheduler
        if chosen not in (KeepwarmScheduler, KeepwarmAsyncScheduler):
            logger.warning("CacheWise: not installed, the scheduler is %s", chosen.__qualname__)
        return chosen

    SchedulerConfig.get_scheduler_cls = get_scheduler_cls
