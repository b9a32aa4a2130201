"""vLLM's own ``Scheduler`` with and without CacheWise's eviction, in turns on the same requests.

``python -m bench.vllm_evicting POOL_BLOCKS ROUNDS``, where vLLM is, prints one JSON document, for
``eviction_overhead``. The work and its processes are those of ``vllm_steps``. Four requests in a row are a
session. Each is foretold to come back at a time that its age has nothing to do with, so that most victims
stand somewhere in the list and have to be moved.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from typing import Any

from bench.vllm_sides import AGAIN, STOCK, Turns, ratio, take_turns
from bench.vllm_steps import NEVER_US, StepsSide, server_config
from keepwarm.vllm.counters import private_counters
from keepwarm.vllm.settings import Settings

REQUESTS_OF_A_SESSION = 4
# "sessions": our scheduler class keeps track of them, vLLM evicts.
SIDES = (STOCK, AGAIN, "sessions", "cachewise")


class EvictingSide(StepsSide):
    """Its requests belong to sessions."""

    def session(self, serial: int) -> str | None:
        return str(serial // REQUESTS_OF_A_SESSION)


def _make(pool_blocks: int, name: str) -> EvictingSide:
    """One scheduler, as the setting makes it."""
    from vllm.v1.core.block_pool import BlockPool
    from vllm.v1.core.kv_cache_manager import KVCacheManager
    from vllm.v1.core.sched.scheduler import Scheduler

    from tests.vllm.real import RealServer

    kind: Any = Scheduler
    if name in {"sessions", "cachewise"}:
        from keepwarm.vllm.eviction import hook_eviction
        from keepwarm.vllm.serving.scheduler import KeepwarmScheduler
        from tests.vllm.cachewise import Foretold

        kind = KeepwarmScheduler
        os.environ["KEEPWARM_EVICTION"] = name if name == "cachewise" else "lru"
        if name == "cachewise":
            hook_eviction(BlockPool, KVCacheManager, Settings(decision_budget_us=NEVER_US), None)
    server = RealServer(server_config(pool_blocks), kind)
    if name == "cachewise":
        server.scheduler.cachewise.state.table.estimator = Foretold()
    hooks = getattr(server.pool, "computecache", None)
    return EvictingSide(server, pool_blocks, private_counters() if hooks is None else hooks._counters)


def measure(pool_blocks: int, rounds: int) -> dict[str, Any]:
    """Both kinds of work at one size; ``ValueError`` if a side's steps were not about as full as stock's."""
    sides = {name: partial(_make, pool_blocks, name) for name in SIDES}
    return {kind: _compared(turns) for kind, turns in take_turns(sides, ("prefill", "decode"), rounds)}


def _compared(turns: Turns) -> dict[str, Any]:
    keys = ("tokens", "running", "preemptions", "evicted", "demoted")
    per_step = {name: {key: round(turns.per_step(name, key), 2) for key in keys} for name in SIDES}
    if any(abs(work["tokens"] / per_step[STOCK]["tokens"] - 1) > 0.05 for work in per_step.values()):
        raise ValueError(f"the sides did different work: {per_step}")
    times_ns = turns.times_ns
    return {
        "stock_us_per_step": turns.stock_us_per_step(),
        "per_step": per_step,
        "ratios": {name: ratio(times_ns[name], times_ns[STOCK]) for name in SIDES if name != STOCK},
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))
