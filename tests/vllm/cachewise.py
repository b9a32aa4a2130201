"""vLLM's scheduler with CacheWise in its pool, as the plugin puts it there, and sessions to rank."""

from __future__ import annotations

import random
import zlib
from typing import Any

from vllm.v1.core.kv_cache_manager import KVCacheManager

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators.base import Estimator
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.serving.base import ServerConfig
from keepwarm.vllm.cache_manager import manager_class
from keepwarm.vllm.counters import Counters
from keepwarm.vllm.eviction import session_order
from keepwarm.vllm.pool import attach
from keepwarm.vllm.serving.scheduler import KeepwarmScheduler
from keepwarm.vllm.serving.settings import EVICTION, SCHEDULING
from keepwarm.vllm.serving.state import EngineState
from keepwarm.vllm.session_order import SessionOrder
from keepwarm.vllm.settings import Settings
from tests.vllm.ordered import settings
from tests.vllm.real import RealServer

NEVER = 10**9
PATIENT = Settings(mode="active", decision_budget_us=NEVER, fault_limit=NEVER)


class Foretold(Estimator):
    """Times that follow from the session and how long it is idle; of every fifth one nothing is known."""

    name = "foretold"

    def remaining_s(self, session: SessionId, call: ToolCall | None, elapsed_s: float) -> float | None:
        number = zlib.crc32(f"{session} {call} {int(elapsed_s)}".encode())
        return None if number % 5 == 0 else number % 97


class CacheWiseServer(RealServer):
    """The pool is attached once it is made, which is as good before its first block is taken."""

    def __init__(
        self, config: ServerConfig, counters: Counters, limits: Settings = PATIENT, scheduling: str = "fcfs"
    ) -> None:
        with settings(**{SCHEDULING: scheduling, EVICTION: "cachewise"}):
            super().__init__(config, KeepwarmScheduler)
        self.state: EngineState = self.scheduler.cachewise.state
        self.state.table.estimator = Foretold()
        made: list[SessionOrder] = []

        def order(pool: Any, limits: Settings) -> SessionOrder:
            made.append(session_order(pool, limits, self.state))
            return made[0]

        hooks = attach(self.pool, limits, counters, order)
        assert hooks is not None
        self.hooks, self.order = hooks, made[0]
        manager = self.scheduler.kv_cache_manager
        manager.__class__ = manager_class(KVCacheManager)
        manager.order = self.order


def say_something(rng: random.Random, tables: list[SessionTable], session: SessionId, now_s: float) -> None:
    """A hint on a session, to all tables alike."""
    kind = rng.randrange(4)
    call = ToolCall(rng.choice(["Bash", "Read"]), "")
    for table in tables:
        if kind == 0:
            table.doing(session, call, now_s)
        elif kind == 1:
            table.awaits_human(session, now_s)
        elif kind == 2:
            table.finish(session)
        elif (known := table.get(session)) is not None:
            known.paused = not known.paused
