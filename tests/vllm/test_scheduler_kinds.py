"""Kinds of servers and requests: async, priorities, streaming sessions, caps, vLLM's choice of class."""

from __future__ import annotations

import logging
import random
from collections import deque
from functools import partial
from typing import Any

import pytest
from vllm.config import CacheConfig, SchedulerConfig
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.request_queue import PriorityRequestQueue
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus

from keepwarm.serving.base import ServerConfig
from keepwarm.vllm.serving.default import make_default
from keepwarm.vllm.serving.queue import OrderedQueue
from keepwarm.vllm.serving.scheduler import KeepwarmAsyncScheduler, KeepwarmScheduler
from tests.vllm import real
from tests.vllm.ordered import OrderedServer
from tests.vllm.real import Call, RealServer

CONFIG = ServerConfig(8, 40, 200, 6, 96)
ORDERED = pytest.mark.parametrize("order", ["fcfs", "cachewise", "active-set"])


@pytest.fixture(autouse=True)
def _logging() -> Any:
    logging.disable(logging.NOTSET)
    yield
    logging.disable(logging.WARNING)


def run_ahead(server: RealServer, calls: int) -> list[str]:
    """Serve with one step in flight while the next is scheduled, as async scheduling does; who ended."""
    scheduler, rng = server.scheduler, random.Random(5)
    in_flight: deque[Any] = deque()
    ended: list[str] = []
    steps = index = 0
    while index < calls or scheduler.has_unfinished_requests() or in_flight:
        if index < calls and rng.random() < 0.6:
            prompt = rng.choices(range(50), k=rng.randint(2, 150))
            server.add(Call(str(index), prompt, [1] * rng.randint(1, 40), session=f"s{index % 9}"))
            index += 1
        if rng.random() < 0.03 and server.requests:
            name = rng.choice(sorted(server.requests))
            server.abort(name)
            ended.append(name)
            server.forget(name)
        scheduled = scheduler.schedule()
        if scheduled.total_num_scheduled_tokens:
            ids = list(scheduled.num_scheduled_tokens)
            tokens = [[] if server.requests[name].is_prefill_chunk else [1] for name in ids]
            in_flight.append(
                (scheduled, ModelRunnerOutput(ids, {name: at for at, name in enumerate(ids)}, tokens))
            )
        if in_flight and (len(in_flight) > 1 or not scheduled.total_num_scheduled_tokens):
            for outputs in scheduler.update_from_output(*in_flight.popleft()).values():
                for out in outputs.outputs:
                    if out.finish_reason is not None and out.request_id in server.requests:
                        ended.append(out.request_id)
                        server.forget(out.request_id)
        steps += 1
        assert steps < 10_000, "requests wait for ever"
    return ended


@ORDERED
def test_the_async_base(order: str) -> None:
    server = OrderedServer(CONFIG, order, KeepwarmAsyncScheduler)
    ended = run_ahead(server, 300)
    assert sorted(ended) == sorted(str(index) for index in range(300))
    assert server.faults() == {}
    assert server.pool.get_num_free_blocks() == CONFIG.capacity_blocks
    if order == "fcfs":
        assert run_ahead(RealServer(CONFIG, AsyncScheduler), 300) == ended


@ORDERED
def test_an_operators_priorities_are_kept(
    order: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(real, "SchedulerConfig", partial(SchedulerConfig, policy="priority"))
    with caplog.at_level(logging.WARNING, "vllm.cachewise"):
        server = OrderedServer(CONFIG, order)
    assert type(server.scheduler.waiting) is PriorityRequestQueue
    said = [record.message for record in caplog.records if "own order is kept" in record.message]
    assert len(said) == (order != "fcfs")
    assert server.desk.state.counters.get("scheduling") == 1
    server.add(Call("one", [1, 2, 3], [4], session="a"))
    server.step()
    assert server.desk.state.table.get("a").served == 1


def test_without_prefix_caching_the_order_is_vllms(monkeypatch: pytest.MonkeyPatch) -> None:
    def uncached(**options: Any) -> CacheConfig:
        return CacheConfig(**options | {"enable_prefix_caching": False})

    monkeypatch.setattr(real, "CacheConfig", uncached)
    server = OrderedServer(CONFIG, "cachewise")
    assert not isinstance(server.scheduler.waiting, OrderedQueue)


@ORDERED
def test_a_streaming_session_waits_with_its_blocks(order: str) -> None:
    server = OrderedServer(CONFIG, order)
    scheduler = server.scheduler

    def more(tokens: list[int], *, resumable: bool) -> Request:
        params = real._sampling_params(2, False)
        return Request("stream", tokens, params, None, resumable=resumable, block_hasher=server._hasher)

    def steps() -> None:
        for _ in range(6):
            server.step()

    server._outputs["stream"] = [7] * 100
    request = server.requests["stream"] = more([1] * 20, resumable=True)
    scheduler.add_request(request)
    server.add(Call("other", [2] * 30, [3] * 4, session="b"))
    steps()
    assert request.status is RequestStatus.WAITING_FOR_STREAMING_REQ
    assert scheduler.get_request_counts() == (0, 1)
    scheduler.add_request(more([4] * 9, resumable=True))
    steps()
    assert request.num_prompt_tokens >= 29
    assert request.status is RequestStatus.WAITING_FOR_STREAMING_REQ
    scheduler.add_request(more([], resumable=False))
    assert scheduler.get_request_counts() == (0, 0)
    assert not scheduler.requests
    assert not server.desk.state.sessions
    assert server.faults() == {}


@pytest.mark.parametrize(("own", "effective"), [(0, 30), (50, 30), (20, 20)])
def test_an_orders_cap_holds_for_one_step_and_never_lifts_an_operators(own: int, effective: int) -> None:
    server = OrderedServer(CONFIG._replace(long_prefill_tokens=own), "cachewise")
    queue = server.desk.queue
    assert queue is not None
    queue._order = type("Capped", (type(queue._order),), {"prefill_cap_tokens": 30})(
        server.desk.view, server.desk.state.table
    )
    server.add(Call("one", [1] * 90, [1], session="a"))
    server.add(Call("two", [2] * 90, [1], session="b"))
    assert dict(server.step().scheduled)["one"] == effective
    assert server.scheduler.scheduler_config.long_prefill_token_threshold == own


def test_the_order_of_stock_scheduling_takes_the_class_that_vllm_chose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SchedulerConfig, "get_scheduler_cls", SchedulerConfig.get_scheduler_cls)
    make_default()

    def chosen(**options: Any) -> Any:
        config = SchedulerConfig(max_model_len=64, is_encoder_decoder=False, **options)
        return config.get_scheduler_cls()

    assert chosen(async_scheduling=False) is KeepwarmScheduler
    assert chosen(async_scheduling=True) is KeepwarmAsyncScheduler
    own = f"{KeepwarmScheduler.__module__}.KeepwarmAsyncScheduler"
    assert chosen(scheduler_cls=own) is KeepwarmAsyncScheduler
    assert chosen(scheduler_cls=Other) is Other


class Other(Scheduler):  # type: ignore[misc]
    """An operator's own."""


def test_sessions_are_found_by_their_prefix() -> None:
    server = OrderedServer(CONFIG, "cachewise")
    table = server.desk.state.table

    def turn(name: str, prompt: list[int]) -> str:
        server.add(Call(name, prompt, [1, 1]))
        session = server.desk.state.session_of(name)
        assert session is not None
        while name not in server.step().finished:
            pass
        server.forget(name)
        return session

    system = [9] * 16
    first = turn("a1", system + [1] * 20)
    second = turn("b1", system + [2] * 20)
    assert first != second
    assert turn("a2", system + [1] * 20 + [5] * 30) == first
    assert turn("b2", system + [2] * 20 + [6] * 30) == second
    assert table.get(first).served == 2
    server.add(Call("a3", system + [1] * 20 + [5] * 40, [1] * 9))
    server.add(Call("a3 too", system + [1] * 20 + [5] * 40, [1] * 9))
    sessions = server.desk.state.sessions
    assert sessions["a3"] == first
    assert sessions["a3 too"] != first  # its newest request is still there
