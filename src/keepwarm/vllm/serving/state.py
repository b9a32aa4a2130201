"""What the scheduler, the pool's hooks and the control endpoint of one engine share.

All of it is touched by the thread that schedules, and by no other. A process has one engine; a scheduler that
is made begins a new state (``begin_engine``), and its pool, made by it, finds that one (``engine_state``).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import Any

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.estimators.base import Estimator
from keepwarm.reuse.estimators.unknown import Unknown
from keepwarm.vllm.serving.counters import (
    ServingCounters,
    private_serving_counters,
    shared_serving_counters,
)
from keepwarm.vllm.serving.faults import ServingFaults
from keepwarm.vllm.serving.predictions import PredictedTable
from keepwarm.vllm.serving.settings import ServingSettings, read_serving_settings
from keepwarm.vllm.startup import counters_directory

logger = logging.getLogger("vllm.cachewise")


class EngineState:
    """Of one engine. Inert: nothing happens here but what scheduler, pool and endpoint do with it.

    Others join by putting callables into the lists, before the first step; what they raise is noted as a
    fault: ``on_step`` get the time, once per step before anything is scheduled; ``on_arrival`` a vLLM request
    and its session, before the table hears that it arrived.
    """

    def __init__(
        self,
        settings: ServingSettings,
        counters: ServingCounters,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.counters = counters
        self.clock = clock
        self.faults = ServingFaults(counters, settings.fault_limit)
        self.table = PredictedTable(self._estimator(), settings.sessions, counters, self.faults)
        self.sessions: dict[str, SessionId] = {}  # of the requests that wait or run, by request id
        self.on_step: list[Callable[[float], None]] = []
        self.on_arrival: list[Callable[[Any, SessionId], None]] = []

    def session_of(self, request_id: str) -> SessionId | None:
        """The session of a request that waits or runs."""
        return self.sessions.get(request_id)

    def _estimator(self) -> Estimator:
        """Of the model file, "unknown" without one or if it cannot be used: that is said once."""
        path = self.settings.reuse_model
        if path is None:
            return Unknown()
        try:
            from keepwarm.reuse.estimators.learned import Learned
            from keepwarm.reuse.model import load

            return Learned(load(path))
        except Exception as error:  # noqa: BLE001 - a server starts whatever stands there
            self.faults.note("model", error, "reuse times are unknown")
            return Unknown()


_engine: EngineState | None = None


def begin_engine(settings: ServingSettings | None = None) -> EngineState:
    """A new state, from here on that of this process; settings of the environment unless given."""
    global _engine  # noqa: PLW0603 - the pool's hooks have no other way to the scheduler that made the pool
    if settings is None:
        settings = read_serving_settings(os.environ).settings
    _engine = EngineState(settings, _counters())
    return _engine


def engine_state() -> EngineState:
    """The state of the engine of this process; made if no scheduler has yet."""
    return begin_engine() if _engine is None else _engine


def _counters() -> ServingCounters:
    try:
        directory = counters_directory()
        if directory is not None:
            return shared_serving_counters(directory)
    except OSError as error:
        logger.warning("CacheWise: no metrics, the counters cannot be shared: %s", error)
    return private_serving_counters()
