"""vLLM's scheduler with a queue order of ours, beside the model with the same order."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from keepwarm.cache.pool import BlockPool
from keepwarm.policies.lru import Lru
from keepwarm.scheduling.orders import ORDERS
from keepwarm.serving.base import ServerConfig
from keepwarm.serving.engine import Engine
from keepwarm.vllm.serving.counters import SERVING_FAULT_KINDS
from keepwarm.vllm.serving.desk import Desk
from keepwarm.vllm.serving.scheduler import KeepwarmScheduler
from keepwarm.vllm.serving.settings import SCHEDULING
from tests.vllm.lockstep import Lockstep
from tests.vllm.real import Call, RealServer
from tests.vllm.streams import RandomStream


@contextmanager
def settings(**values: str) -> Iterator[None]:
    """The environment of an engine that starts."""
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class OrderedServer(RealServer):
    """``now_s`` is the time; ``environ`` further settings."""

    def __init__(
        self, config: ServerConfig, order: str, scheduler_class: Any = KeepwarmScheduler, **environ: str
    ) -> None:
        with settings(**{SCHEDULING: order}, **environ):
            super().__init__(config, scheduler_class)
        self.now_s = 0.0
        self.desk: Desk = self.scheduler.cachewise
        self.desk.state.clock = lambda: self.now_s

    def faults(self) -> dict[str, int]:
        counters = self.desk.state.counters
        return {kind: count for kind in SERVING_FAULT_KINDS if (count := counters.get(f"fault_{kind}"))}


class OrderedLockstep(Lockstep):
    """The same requests, and after every step nothing may differ: one order, three places."""

    def __init__(self, config: ServerConfig, order: str) -> None:
        super().__init__(config)
        pool = BlockPool(config.capacity_blocks, Lru(config.capacity_blocks))
        self.model = Engine(config, pool, ORDERS[order])
        self.real: OrderedServer = OrderedServer(config, order)

    def step(self) -> bool:
        self.real.now_s = self.now_s
        return super().step()

    def add(self, call: Call) -> None:
        self.real.now_s = self.now_s
        super().add(call)


def play(seed: int, requests: int, order: str, *, long_answers: bool = False) -> OrderedLockstep:
    """Run a whole stream on both sides; returns what was compared. Raises ``Difference``.

    Long answers outgrow the cache once they run, so that requests are preempted.
    """
    stream = RandomStream(seed)
    rng = stream.rng
    both = OrderedLockstep(stream.config._replace(long_prefill_tokens=0), order)
    most_in_flight = rng.choice([2, 16, 48])
    sessions = rng.choice([1, 4, 40])
    step_s = rng.choice([0.01, 0.5, 5.0])
    while both.counts["requests"] < requests:
        if len(both.model) < most_in_flight:
            for _ in range(rng.choice([1, 1, 2, 5])):
                call = stream.call()._replace(session=f"session {rng.randrange(sessions)}")
                both.add(_with_long_answer(call, both.config) if long_answers else call)
        for _ in range(rng.choice([0, 1, 1, 2])):
            both.now_s += step_s * rng.random()
            both.step()
        _disturb(both, rng, stream)
    both.drain()
    return both


def _with_long_answer(call: Call, config: ServerConfig) -> Call:
    prompt = call.prompt[: max(1, config.max_request_tokens // 3)]
    room = config.max_request_tokens - len(prompt)
    return call._replace(prompt=prompt, output=[(sum(prompt) + at) % 1_000 for at in range(room)])


def _disturb(both: OrderedLockstep, rng: random.Random, stream: RandomStream) -> None:
    event = rng.random()
    if event < 0.01:
        both.abort(stream.some_earlier_id())
    elif event < 0.012:
        both.reset_cache(preempt_running=rng.random() < 0.3)
