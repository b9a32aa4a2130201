"""What every registered queue order must do, whatever its order."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm.cache.pool import BlockPool
from keepwarm.policies.base import BlockHash
from keepwarm.policies.lru import Lru
from keepwarm.policies.sessions import SessionId
from keepwarm.scheduling.base import QueueOrder
from keepwarm.scheduling.orders import ORDERS
from keepwarm.scheduling.priced import MOST_LOOKED_AT
from keepwarm.serving.base import RequestId, ServerConfig, ServerRequest
from keepwarm.serving.engine import Engine
from tests.scheduling.servers import Order, SmallServer

pytestmark = pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS.keys())

seeds = st.integers(0, 2**32 - 1)


def work(server: SmallServer, rng: random.Random, events: int) -> None:
    """Arrivals, abandoned requests, preemptions, pauses and steps at random."""
    for _ in range(events):
        what = rng.random()
        if what < 0.45:
            server.ask(f"s{rng.randrange(8)}", rng.randint(1, 400), steps=rng.randint(1, 4))
        elif what < 0.5 and len(server.order):
            waiting = set(server.order)
            server.give_up(rng.choice([ticket for ticket in server.owed if ticket in waiting]))
        elif what < 0.55 and server.running:
            server.preempt()
        elif what < 0.6:
            server.now_s += rng.choice((0.1, 5.0, 100.0, 1_000.0))
        elif what < 0.65:
            server.sessions.finish(SessionId(f"s{rng.randrange(8)}"))
        else:
            server.step()


@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_everybody_is_served_once(order: Order, seed: int) -> None:
    server = SmallServer(order)
    work(server, random.Random(seed), 150)
    server.drain()
    assert len(server.done) == len(set(server.done))
    assert set(server.done) == set(server.owed)
    assert list(server.order) == []


@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_lists_who_waits_and_nobody_else(order: Order, seed: int) -> None:
    rng = random.Random(seed)
    server = SmallServer(order)
    for _ in range(20):
        work(server, rng, 10)
        listed = list(server.order)
        assert len(listed) == len(set(listed)) == len(server.order)
        assert not set(listed) & set(server.running)


@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_the_first_waits_stays_and_is_there_when_nothing_runs(order: Order, seed: int) -> None:
    rng = random.Random(seed)
    server = SmallServer(order)
    for _ in range(30):
        work(server, rng, 5)
        server.order.begin_step(server.now_s)
        first = server.order.first()
        assert server.order.first() is first
        assert first is None or first in list(server.order)
        assert list(server.order) == list(server.order)
        assert server.order.first() is first
        assert first is not None or server.running or not len(server.order)


@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_the_preempted_come_first_and_the_last_put_back_before_them(order: Order, seed: int) -> None:
    server = SmallServer(order)
    work(server, random.Random(seed), 60)
    before = [ticket for ticket in server.order if ticket.preempted]
    back = [server.preempt() for _ in list(server.running)]
    for expected in [*reversed(back), *before]:
        server.order.begin_step(server.now_s)
        assert server.order.first() is expected
        server.order.admitted(expected)


def test_a_stranger_cannot_be_taken_out(order: Order) -> None:
    server = SmallServer(order)
    for session in "ab":
        server.ask(session, 10)
    stranger = SmallServer(order).ask("a", 10)
    with pytest.raises(ValueError, match=r".*"):
        server.order.remove(stranger)
    with pytest.raises(ValueError, match=r".*"):
        server.order.admitted(stranger)
    assert len(server.order) == len(list(server.order)) == 2
    server.drain()
    assert len(server.done) == 2


def test_asks_of_a_step_are_bounded_and_leave_the_cache_alone(order: Order) -> None:
    server = SmallServer(order, capacity_blocks=5_000)
    rng = random.Random(3)
    for number in range(300):
        session = f"s{number}"
        server.cache([(session, depth) for depth in range(rng.randrange(30))])
        server.ask(session, rng.randint(2, 40))
    cached = list(server.cached)
    for step in range(500):
        if step == 100:
            for block in cached[::3]:
                del server.cached[block]
            cached = list(server.cached)
        server.asked_is_cached = 0
        server.order.begin_step(server.now_s + step)
        server.order.first()
        assert server.asked_is_cached <= MOST_LOOKED_AT * 2 * 7  # galloping over up to 40 blocks
        assert list(server.cached) == cached


def test_a_request_that_fills_memory_comes_through_a_crowd(order: Order) -> None:
    server = SmallServer(order)
    for number in range(20):
        server.ask(f"small{number}", 120)
    server.ask("huge", 1_000)
    server.ask("more than there is", 1_400)
    server.ask("more than half", 600)
    server.drain()
    assert len(server.done) == 23


def test_a_session_that_asks_for_much_at_once_comes_through(order: Order) -> None:
    server = SmallServer(order)
    for number in range(30):
        server.ask("parallel", 100 + number)
        server.ask("other", 300)
    server.drain()
    assert len(server.done) == 60


def test_a_table_that_forgets_keeps_nobody_from_service(order: Order) -> None:
    server = SmallServer(order)
    forgetful = type(server.sessions)(server.sessions.estimator, most_sessions=2)
    server.sessions = forgetful
    server.order = order(server, forgetful)
    for turn in range(3):
        for number in range(12):
            server.ask(f"s{(number + 4 * turn) % 14}", 150 + 10 * turn)
        server.drain()
        server.now_s += 1_000 * turn
    assert len(server.done) == 36
    assert forgetful.forgotten > 0


@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_the_serving_model_finishes_what_it_was_given(order: type[QueueOrder[Any]], seed: int) -> None:
    rng = random.Random(seed)
    block, capacity = 4, 60
    config = ServerConfig(block, capacity, capacity * block, max_running_requests=6, step_tokens=32)
    engine = Engine(config, BlockPool(capacity, Lru(capacity)), order)
    contexts = {session: [1 + 100 * session] for session in range(6)}
    sent, now_s, finished = 0, 0.0, 0
    while sent < 40 or len(engine):
        if sent < 40 and rng.random() < 0.4:
            session = rng.randrange(6)
            context = contexts[session]
            context += [context[-1] + 1 + step for step in range(rng.randint(0, 4))]
            if len(context) > 40:
                context = contexts[session] = context[:1]
            prompt = len(context) * block + rng.randrange(block)
            blocks = [BlockHash(each) for each in context]
            name = RequestId(str(sent))
            request = ServerRequest(name, prompt, rng.randint(1, 12), blocks, session=SessionId(str(session)))
            engine.add(request, now_s)
            sent += 1
        if len(engine):
            result = engine.step(now_s)
            assert result.scheduled or result.preempted
            finished += len(result.finished)
            engine.pool.check_integrity(state.table for state in engine.running)
        now_s += rng.choice((0.05, 0.05, 0.05, 3.0))
    assert finished == 40
