"""What of vLLM 0.32.0 the scheduler classes rely on, by name and digest, as ``vllm/fingerprints.py`` has it.

If any of it is another, the classes behave as vLLM's own, which they are made over.
"""

from __future__ import annotations

from typing import Any

from keepwarm.vllm import fingerprints

SCHEDULER = "vllm/v1/core/sched/scheduler.py"
ASYNC_SCHEDULER = "vllm/v1/core/sched/async_scheduler.py"
REQUEST_QUEUE = "vllm/v1/core/sched/request_queue.py"
BLOCK_POOL = fingerprints.BLOCK_POOL
KV_CACHE_UTILS = fingerprints.KV_CACHE_UTILS
SCHEDULER_CONFIG = "vllm/config/scheduler.py"

SERVING_FINGERPRINTS: dict[str, dict[str, str]] = {
    SCHEDULER: {
        "Scheduler.__init__": "5cbe7fe1e6a29ab3",
        "Scheduler.schedule": "81a3aa7c0bffa509",
        "Scheduler._preempt_request": "4c2de2294d84c5b2",
        "Scheduler._update_after_schedule": "a3fa8c562c1425b2",
        "Scheduler._update_request_as_session": "2351461155a9ccbd",
        "Scheduler.update_from_output": "3a54ee90e15ab4e2",
        "Scheduler._is_blocked_waiting_status": "2a7f95f16a237e08",
        "Scheduler._holds_kv_blocks": "09a94c4eda4700dd",
        "Scheduler._enqueue_waiting_request": "de1e7216985d039b",
        "Scheduler._handle_stopped_request": "b837ccd5f4c657ea",
        "Scheduler.get_request_counts": "89609865a28dac09",
        "Scheduler.add_request": "2fd9eefbdf572e52",
        "Scheduler.finish_requests": "4fae314c50e94662",
        "Scheduler._free_request": "58291fd6ee1376f8",
        "Scheduler.reset_prefix_cache": "4daeeea1922a1adf",
        "Scheduler._handle_blocked_waiting_request": "5ae6999cfaaca441",
    },
    ASYNC_SCHEDULER: {"AsyncScheduler": "ba530e0bb9da9b5f"},
    REQUEST_QUEUE: {
        "RequestQueue": "560a820438e0938d",
        "FCFSRequestQueue": "f29fae81aeaf42bd",
        "create_request_queue": "a54222dc0474eea8",
    },
    BLOCK_POOL: {"BlockHashToBlockMap.get_one_block": "cad021f7c60bf96d"},
    KV_CACHE_UTILS: {"make_block_hash_with_group_id": "ecc4c9e962848582"},
}
# Replaced by the plugin, so looked at by it alone, before.
CONFIG_FINGERPRINTS: dict[str, dict[str, str]] = {
    SCHEDULER_CONFIG: {"SchedulerConfig.get_scheduler_cls": "5e4ffc63e4466c73"}
}


def why_not_scheduling() -> str | None:
    """What of the loaded vLLM is not as it has to be; None if all is. Raises ``OSError`` without sources."""
    from vllm import __version__
    from vllm.v1.core import block_pool, kv_cache_utils
    from vllm.v1.core.sched import async_scheduler, request_queue, scheduler

    modules: dict[str, Any] = {
        SCHEDULER: scheduler,
        ASYNC_SCHEDULER: async_scheduler,
        REQUEST_QUEUE: request_queue,
        BLOCK_POOL: block_pool,
        KV_CACHE_UTILS: kv_cache_utils,
    }
    return _reason(str(__version__), modules, SERVING_FINGERPRINTS)


def why_not_default_class() -> str | None:
    """The same for the choice of the scheduler's class."""
    from vllm import __version__
    from vllm.config import scheduler as scheduler_config

    return _reason(str(__version__), {SCHEDULER_CONFIG: scheduler_config}, CONFIG_FINGERPRINTS)


def _reason(version: str, modules: dict[str, Any], expected: dict[str, dict[str, str]]) -> str | None:
    if version.partition("+")[0] != fingerprints.VERSION:
        return f"vLLM is {version}, this is for {fingerprints.VERSION}"
    wrong = fingerprints.differences(modules, expected)
    return f"other source than that of vLLM {fingerprints.VERSION}: {', '.join(wrong)}" if wrong else None
