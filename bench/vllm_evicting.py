"""vLLM's own ``Scheduler`` with and without CacheWise's eviction, in turns on the same requests.

``python -m bench.vllm_evicting POOL_BLOCKS ROUNDS``, where vLLM is, prints one JSON document, for
``eviction_overhead``. The work and its processes are those of ``vllm_steps``. Four requests in a row are a
session. Each is foretold to come back at a time that its age has nothing to do with, so that most victims
stand somewhere in the list and have to be moved.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
from functools import partial
from itertools import count
from typing import Any

from bench.vllm_steps import (
    BATCH_TOKENS,
    BLOCK_TOKENS,
    KINDS,
    NEVER_US,
    RUNNING,
    STOCK,
    Side,
    Worker,
    _ratio,
    serve,
)
from keepwarm.serving.base import ServerConfig
from keepwarm.vllm.counters import private_counters
from keepwarm.vllm.settings import Settings

REQUESTS_OF_A_SESSION = 4
# "sessions": our scheduler class keeps track of them, vLLM evicts.
SIDES = (STOCK, "stock_again", "sessions", "cachewise")


class EvictingSide(Side):
    """One scheduler, as the setting makes it."""

    def __init__(self, pool_blocks: int, name: str) -> None:
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
        longest_tokens = min((pool_blocks - 1) * BLOCK_TOKENS, BATCH_TOKENS)
        config = ServerConfig(BLOCK_TOKENS, pool_blocks - 1, longest_tokens, RUNNING, BATCH_TOKENS)
        self._server = RealServer(config, kind)
        if name == "cachewise":
            self._server.scheduler.cachewise.state.table.estimator = Foretold()
        del self._server.pool._emit_block_removed_events  # where the tests listen
        hooks = getattr(self._server.pool, "computecache", None)
        self.counters = private_counters() if hooks is None else hooks._counters
        self._serial = count()
        self._arrivals = iter(())
        self.tokens = self.running = self.preemptions = 0

    def _refill(self) -> None:
        from tests.vllm.real import Call

        for _ in range(RUNNING - len(self._server.requests)):
            (prompt, output_tokens), serial = next(self._arrivals), next(self._serial)
            session = str(serial // REQUESTS_OF_A_SESSION)
            self._server.add(Call(str(serial), prompt, [0] * output_tokens, session=session))


def measure(pool_blocks: int, rounds: int) -> dict[str, Any]:
    """Both kinds of work at one size; ``ValueError`` if a side's steps were not about as full as stock's."""
    workers: dict[str, Worker] = {}
    try:
        for name in SIDES:  # one after another: starting takes both cores
            workers[name] = Worker(serve, partial(EvictingSide, pool_blocks, name), pool_blocks)
            workers[name].ask("done")
        return {kind: _compare(workers, kind, pool_blocks, rounds) for kind in ("prefill", "decode")}
    finally:
        for worker in workers.values():
            worker.end()


def _compare(workers: dict[str, Worker], kind: str, pool_blocks: int, rounds: int) -> dict[str, Any]:
    rng, names = random.Random(rounds), list(workers)
    before = {name: worker.ask(f"begin {kind}") for name, worker in workers.items()}
    times_ns: dict[str, list[int]] = {name: [] for name in names}
    for _ in range(rounds):
        rng.shuffle(names)
        for name in names:
            times_ns[name].append(workers[name].ask(f"run {kind}")["time_ns"])
    after = {name: worker.ask("done") for name, worker in workers.items()}
    steps = KINDS[kind][pool_blocks].steps
    per_step = {
        name: {
            key: round((found[key] - before[name][key]) / (rounds * steps), 2)
            for key in ("tokens", "running", "preemptions", "evicted", "demoted")
        }
        for name, found in after.items()
    }
    faulty = {name: found["faults"] for name, found in after.items() if found["faults"]}
    if faulty:
        raise ValueError(f"faults: {faulty}")
    if any(abs(work["tokens"] / per_step[STOCK]["tokens"] - 1) > 0.05 for work in per_step.values()):
        raise ValueError(f"the sides did different work: {per_step}")
    return {
        "stock_us_per_step": round(statistics.median(times_ns[STOCK]) / steps / 1e3, 1),
        "per_step": per_step,
        "ratios": {name: _ratio(times_ns[name], times_ns[STOCK]) for name in workers if name != STOCK},
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))
