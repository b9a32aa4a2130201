"""With our scheduler class in place and the order of arrival, vLLM decides what stock vLLM decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from vllm.v1.core.sched.scheduler import Scheduler

from keepwarm.serving.base import ServerConfig
from keepwarm.vllm.serving import scheduler as scheduler_classes
from tests.vllm.ordered import OrderedServer
from tests.vllm.real import RealServer
from tests.vllm.streams import RandomStream

LEAST_STEPS = 10_000


def play(seed: int, server: Callable[[ServerConfig], RealServer]) -> tuple[list[Any], Any]:
    """What a server decided in each step of a stream, and which blocks are free in the end."""
    stream = RandomStream(seed)
    rng, real = stream.rng, server(stream.config)
    decided: list[Any] = []

    def step() -> None:
        done = real.step()
        decided.append((done, len(real.scheduler.waiting), real.scheduler.get_num_unfinished_requests()))
        for request_id in done.finished:
            real.forget(request_id)

    most_in_flight = rng.choice([2, 16, 48])
    for _ in range(400):
        for _ in range(rng.choice([1, 1, 2, 5]) if len(real.requests) < most_in_flight else 0):
            real.add(stream.call()._replace(session=rng.choice([None, "", "a", "b" * 300])))
        for _ in range(rng.choice([0, 1, 1, 2])):
            step()
        event = rng.random()
        if event < 0.01:
            given_up = stream.some_earlier_id()
            decided.append(real.abort(given_up))
            real.forget(given_up)
        elif event < 0.014:
            decided.append(real.reset_cache(preempt_running=rng.random() < 0.5))
    while real.scheduler.has_unfinished_requests():
        step()
    decided.append(real.lookups)
    return decided, list(real.free_order())


def test_the_order_of_arrival_is_stock_over_ten_thousand_steps(totals: Counter[str]) -> None:
    steps = seed = 0
    while steps < LEAST_STEPS:
        stock, ours = play(seed, RealServer), play(seed, lambda config: OrderedServer(config, "fcfs"))
        assert ours == stock, seed
        steps += len(stock[0])
        seed += 1
    totals["steps beside stock"] += steps


@pytest.mark.parametrize("order", ["cachewise", "active-set"])
def test_an_order_that_was_put_away_is_stock(order: str) -> None:
    def put_away(config: ServerConfig) -> RealServer:
        server = OrderedServer(config, order, KEEPWARM_FAULT_LIMIT="1")
        server.desk.state.faults.note("order", "too many")
        assert server.desk.state.faults.tripped
        return server

    for seed in range(8):
        assert play(seed, put_away) == play(seed, RealServer), seed


def test_other_source_than_that_of_this_version_leaves_all_to_vllm(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("KEEPWARM_SCHEDULING", "cachewise")
    monkeypatch.setattr(scheduler_classes, "why_not_scheduling", lambda: "other source")
    made = []

    def server(config: ServerConfig) -> RealServer:
        made.append(RealServer(config, scheduler_classes.KeepwarmScheduler))
        return made[-1]

    assert play(3, server) == play(3, RealServer)
    assert made[0].scheduler.cachewise is None


def test_nothing_of_a_stock_scheduler_is_changed_by_loading_ours() -> None:
    for name in ("schedule", "add_request", "update_from_output", "_free_request"):
        assert getattr(Scheduler, name).__module__ == Scheduler.__module__
