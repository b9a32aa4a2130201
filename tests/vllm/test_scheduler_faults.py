"""Faults in every hook of a queue order and of the sessions: nothing is lost, vLLM's own order is kept."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from vllm.v1.core.sched.request_queue import FCFSRequestQueue
from vllm.v1.request import RequestStatus

from keepwarm.scheduling.active_set import ActiveSet
from keepwarm.scheduling.cachewise import CacheWise
from keepwarm.scheduling.orders import ORDERS
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.serving.base import ServerConfig
from keepwarm.vllm.serving.scheduler import KeepwarmScheduler
from tests.vllm.ordered import OrderedServer
from tests.vllm.real import Call, RealServer

CONFIG = ServerConfig(8, 60, 200, 6, 96)
HOOKS = ("__init__", "begin_step", "add", "put_back", "first", "remove", "admitted", "released", "prefilled")
ORDERED = pytest.mark.parametrize("order", [CacheWise.name, ActiveSet.name])


@pytest.fixture(autouse=True)
def _logging() -> Iterator[None]:
    logging.disable(logging.NOTSET)
    yield
    logging.disable(logging.WARNING)


class Broken(RuntimeError):
    """What is injected."""


def failing(order: str, hook: str, *, share: float) -> type[Any]:
    """The order, one of its hooks failing in a share of all calls, before or after it has done its work."""
    rng = random.Random(f"{order} {hook}")

    def broken(self: Any, *args: Any) -> Any:
        fails = rng.random()
        if fails < share / 2:
            raise Broken(hook)
        answer = getattr(base, hook)(self, *args)
        if fails < share:
            raise Broken(hook)
        return answer

    base = ORDERS[order]
    return type(base.__name__, (base,), {hook: broken})


def calls(count: int, *, seed: int = 0) -> Iterator[Call]:
    rng = random.Random(seed)
    contexts: dict[str, list[int]] = {}
    for index in range(count):
        session = f"session {rng.randrange(12)}"
        context = contexts.get(session, [])
        prompt = (context + rng.choices(range(1_000), k=rng.randint(4, 40)))[-150:]
        contexts[session] = prompt
        yield Call(str(index), prompt, rng.choices(range(1_000), k=rng.randint(1, 30)), session=session)


def serve(server: OrderedServer, count: int = 200, *, seed: int = 0) -> None:
    """All requests arrive and end, some given up; no block is lost."""
    rng = random.Random(seed)
    arrivals, alive, ended = calls(count, seed=seed), set(), 0
    steps = given_up = 0
    while ended + given_up < count:
        for _ in range(rng.choice([0, 1, 3])):
            call = next(arrivals, None)
            if call is not None:
                server.add(call)
                alive.add(call.id)
        if alive and rng.random() < 0.05:
            name = rng.choice(sorted(alive))
            assert server.abort(name)
            server.forget(name)
            alive.discard(name)
            given_up += 1
        if rng.random() < 0.02:
            server.reset_cache(preempt_running=True)
        server.now_s += 0.1
        for name in server.step().finished:
            server.forget(name)
            alive.discard(name)
            ended += 1
        steps += 1
        assert steps < 50 * count, "requests wait for ever"
    scheduler = server.scheduler
    assert not scheduler.requests
    assert not scheduler.running
    assert len(scheduler.waiting) == 0
    assert server.pool.get_num_free_blocks() == CONFIG.capacity_blocks
    assert all(block.ref_cnt == 0 for block in server.pool.blocks if not block.is_null)
    assert not server.desk.state.sessions
    queue = server.desk.queue
    assert queue is None or not (queue._waiting or queue._aside or queue._running or queue._prefilling)


@ORDERED
def test_every_request_is_served(order: str) -> None:
    server = OrderedServer(CONFIG, order)
    serve(server, 600)
    assert server.faults() == {}


@ORDERED
@pytest.mark.parametrize("hook", HOOKS[1:])
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_faults_of_an_order(
    order: str, hook: str, share: float, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(ORDERS, order, failing(order, hook, share=share))
    server = OrderedServer(CONFIG, order, KEEPWARM_FAULT_LIMIT="20")
    with caplog.at_level(logging.WARNING, "vllm.cachewise"):
        serve(server)
    faults = server.faults()
    assert set(faults) == {"order"}
    assert faults["order"] <= 20
    tripped = server.desk.state.faults.tripped
    assert tripped == (faults["order"] == 20)
    assert len([record for record in caplog.records if "fault of kind" in record.message]) == 1
    assert len([record for record in caplog.records if "put away" in record.message]) == tripped
    counters = server.desk.state.counters
    assert counters.get("put_away") == tripped
    assert counters.get("scheduling") == (1 if tripped else 2 + (order == "active-set"))


@ORDERED
def test_an_order_that_cannot_be_made_leaves_all_to_vllm(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ORDERS, order, failing(order, "__init__", share=1.0))
    monkeypatch.setenv("KEEPWARM_SCHEDULING", order)
    server = RealServer(CONFIG, KeepwarmScheduler)
    assert server.scheduler.cachewise is None
    assert type(server.scheduler.waiting) is FCFSRequestQueue
    server.add(Call("one", [1, 2, 3], [4]))
    assert server.step().finished == ["one"]


@ORDERED
def test_an_order_that_lets_nobody_in_is_a_fault(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = type("Silent", (ORDERS[order],), {"first": lambda self: None})
    monkeypatch.setitem(ORDERS, order, silent)
    server = OrderedServer(CONFIG, order)
    serve(server)
    assert set(server.faults()) == {"stalled"}


@ORDERED
def test_an_order_that_names_a_stranger_is_a_fault(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    strange: dict[str, Any] = {"first": lambda self: next(iter(self), None) and object()}
    monkeypatch.setitem(ORDERS, order, type("Strange", (ORDERS[order],), strange))
    server = OrderedServer(CONFIG, order)
    serve(server)
    assert set(server.faults()) == {"order"}


@ORDERED
@pytest.mark.parametrize("method", ["arrived", "ended", "rank"])
def test_faults_of_the_sessions(order: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise Broken(method)

    server = OrderedServer(CONFIG, order)
    monkeypatch.setattr(SessionTable, method, broken)
    serve(server)
    assert set(server.faults()) <= {"sessions", "order"}


@ORDERED
def test_faults_of_those_who_join(order: str) -> None:
    def broken(*_: Any) -> None:
        raise Broken("joined")

    server = OrderedServer(CONFIG, order)
    state = server.desk.state
    state.on_step.append(broken)
    state.on_arrival.append(broken)
    serve(server)
    assert set(server.faults()) == {"sessions", "step"}


@ORDERED
def test_ten_thousand_sessions_and_ids_that_cannot_be_used(order: str) -> None:
    server = OrderedServer(ServerConfig(8, 4_000, 64, 256, 8_192), order, KEEPWARM_SESSIONS="500")
    served = 0
    odd: tuple[Any, ...] = (None, "", "x" * 10_000, 7, b"bytes", ["list"], "\x00", "né")
    for index in range(10_400):
        session = odd[index % len(odd)] if index % 26 == 0 else f"session {index}"
        prompt = [index % 997, index // 997, 3, 4, 5, 6, 7, 8, 9]
        server.add(Call(str(index), prompt, [1], session=session))
        if index % 200 == 199:
            server.now_s += 1.0
            while server.scheduler.has_unfinished_requests():
                for name in server.step().finished:
                    server.forget(name)
                    served += 1
    assert served == 10_400
    table, counters = server.desk.state.table, server.desk.state.counters
    assert len(table) <= 500
    assert table.forgotten >= 9_500
    assert server.faults() == {}
    assert counters.get("malformed_session_ids") > 0


@ORDERED
@pytest.mark.parametrize("content", [None, b"", b"{", b'{"schema": "other"}', b"\x80\x04pickle"])
def test_a_missing_or_corrupt_model_is_said_once(
    order: str, content: bytes | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = tmp_path / "model.json"
    if content is not None:
        model.write_bytes(content)
    with caplog.at_level(logging.WARNING, "vllm.cachewise"):
        server = OrderedServer(CONFIG, order, KEEPWARM_REUSE_MODEL=str(model))
    serve(server)
    assert server.faults() == {"model": 1}
    assert server.desk.state.table.estimator.name == "unknown"
    assert len([record for record in caplog.records if "'model'" in record.message]) == 1


def test_a_request_whose_grammar_is_compiled_stands_aside() -> None:
    server = OrderedServer(CONFIG, "cachewise")
    scheduler = server.scheduler
    request = unsent(server, Call("first", [1, 2, 3], [4, 5]))
    request.status = RequestStatus.WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR
    request.structured_output_request = Compiling()
    scheduler.add_request(request)
    server.add(Call("second", [6, 7, 8], [9, 9]))
    assert [name for name, _ in server.step().scheduled] == ["second"]
    assert [waiting.request_id for waiting in scheduler.waiting] == ["first"]
    assert scheduler.get_request_counts() == (1, 1)
    request.structured_output_request = None
    request.status = RequestStatus.WAITING
    assert "first" in [name for name, _ in server.step().scheduled]
    assert server.faults() == {}


class Compiling:
    """Of a request with structured output."""

    grammar = None


def unsent(server: OrderedServer, call: Call) -> Any:
    """The request as vLLM has it, before its scheduler does."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(server.scheduler, "add_request", lambda request: None)
        return server.add(call)
