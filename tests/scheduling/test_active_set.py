"""The active set: FCFS while everything fits, nobody past the bound when it does not, and who is paused."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm.cache.pool import BlockPool
from keepwarm.policies.base import BlockHash
from keepwarm.policies.lru import Lru
from keepwarm.policies.sessions import SessionId, Tier
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators.base import Estimator
from keepwarm.scheduling.active_set import ActiveSet
from keepwarm.scheduling.cachewise import CacheWise
from keepwarm.scheduling.fcfs import Fcfs
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.serving.base import RequestId, RequestState, ServerConfig, ServerRequest
from keepwarm.serving.engine import Engine
from tests.scheduling.servers import Asked, Order, SmallServer

seeds = st.integers(0, 2**32 - 1)
BLOCK_S = SmallServer.block_size * SmallServer.prefill_s_per_token


def bound_s(server: SmallServer, ticket: Asked) -> float:
    """W, as the order set it at arrival."""
    order = server.order
    assert isinstance(order, ActiveSet)
    return float(order._waits[ticket].bound_s)


def flood(server: SmallServer, rng: random.Random, busy: float) -> dict[Asked, float]:
    """Sessions that ask again at once for as long as somebody waits, newcomers, giants, several at a time."""
    contexts = {f"again{number}": rng.randint(20, 150) for number in range(14)}
    bounds: dict[Asked, float] = {}
    seen = 0

    def ask(session: str, blocks: int) -> None:
        ticket = server.ask(session, blocks, steps=rng.choice((1, 1, 5, 30)))
        bounds[ticket] = bound_s(server, ticket)

    for session, blocks in contexts.items():
        ask(session, blocks)
    for step in range(4_000):
        if step < 200 and rng.random() < busy:
            ask(rng.choice((f"new{step}", f"many{step % 3}")), rng.choice((5, 60, 300, 950)))
        if step > 200 and all(ticket.admitted_s >= 0 for ticket in bounds):
            break
        server.step()
        for ticket in server.done[seen:]:
            if ticket.session in contexts:
                blocks = ticket.need_blocks + rng.choice((0, 1))
                if step < 200:
                    ask(ticket.session, blocks)
                else:
                    server.ask(ticket.session, blocks)
        seen = len(server.done)
    return bounds


@given(seed=seeds, busy=st.sampled_from([0.02, 0.1, 0.3]))
@settings(max_examples=20, deadline=None)
def test_everybody_is_admitted_within_the_bound(seed: int, busy: float) -> None:
    """W, and then twice what those take that came before it was due: two classes share the server."""
    server = SmallServer(ActiveSet)
    bounds = flood(server, random.Random(seed), busy)
    for ticket, bound in bounds.items():
        due_s = ticket.arrival_s + bound
        before = [
            other for other in server.owed if other.arrival_s <= due_s and not 0 <= other.ended_s <= due_s
        ]
        work_s = sum(other.need_blocks * BLOCK_S + 30 * 0.0011 for other in before)
        assert 0 <= ticket.admitted_s <= due_s + 2 * work_s + 1.0


def first_token_of_a_newcomer(order: Order, most_s: float) -> tuple[float, float]:
    """Seconds to the first token of 45,000 tokens among 1,000 sessions that ask again at once; one round."""
    block, capacity = 16, 47_700
    config = ServerConfig(block, capacity, capacity * block, max_running_requests=64, step_tokens=512)
    engine = Engine(config, BlockPool(capacity, Lru(capacity)), order)
    engine.prefill_s_per_token = 1e-4
    now_s, turns = 0.0, dict.fromkeys(range(1_000), 0)  # turns: asked so far

    def ask(session: int) -> None:
        blocks = [BlockHash(session * 10 + depth) for depth in range(5 + turns[session] % 3)]
        name = RequestId(f"{session}/{turns[session]}")
        engine.add(
            ServerRequest(name, len(blocks) * block + 1, 2, blocks, session=SessionId(f"s{session}")), now_s
        )
        turns[session] += 1

    def step() -> None:
        nonlocal now_s
        result = engine.step(now_s)
        now_s += sum(result.scheduled.values()) * 1e-4 + 1e-3
        for finished in result.finished:
            if finished != "newcomer":
                ask(int(finished.split("/")[0]))

    for session in turns:
        ask(session)
    while sum(turns.values()) < 3_000:
        step()
    round_s = (2_813 + sum(6 + (turn - 1) % 3 for turn in turns.values())) * block * 1e-4
    asked_s = now_s
    prompt = [BlockHash(10**6 + depth) for depth in range(2_812)]
    engine.add(ServerRequest(RequestId("newcomer"), 45_000, 1, prompt, session=SessionId("newcomer")), now_s)
    while now_s < asked_s + most_s and any(
        state.request.id == "newcomer" for state in (*engine.waiting, *engine.running)
    ):
        step()
    return now_s - asked_s, round_s


def test_a_long_newcomer_among_a_thousand_short_hits_gets_its_first_token_within_the_bound() -> None:
    took_s, round_s = first_token_of_a_newcomer(ActiveSet, 1_000.0)
    assert took_s <= ActiveSet.tuning.gamma * round_s + ActiveSet.tuning.check_s


def test_fewest_missing_first_as_published_lets_it_starve() -> None:
    took_s, round_s = first_token_of_a_newcomer(CacheWise, 18.0)
    assert took_s >= 18.0 > 1.1 * round_s


@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_while_all_sessions_fit_it_is_first_come_first_served(seed: int) -> None:
    admitted = []
    for order in (Fcfs, ActiveSet):
        rng = random.Random(seed)
        server = SmallServer(order, capacity_blocks=5_000)
        for _ in range(120):
            if rng.random() < 0.5:
                server.ask(f"s{rng.randrange(8)}", rng.randint(1, 120), steps=rng.randint(1, 9))
            server.step()
        server.drain()
        admitted.append([(ticket.session, ticket.arrival_s, ticket.admitted_s) for ticket in server.done])
    assert admitted[0] == admitted[1]


def test_who_does_not_fit_is_paused_until_somebody_is_away_for_long() -> None:
    server = SmallServer(ActiveSet)
    server.prefill_s_per_token = 2e-3  # a round takes 38 s
    server.ask("a", 400)
    server.ask("b", 400, steps=4_000)
    server.ask("c", 400)
    assert [known.paused for known in server.sessions] == [False, False, True]
    assert server.sessions.rank(SessionId("c")).tier is Tier.PAUSED
    while not server.done:
        server.step()
    gone_s = server.now_s
    while len(server.order):
        server.step()
    assert [ticket.session for ticket in server.running] == ["b", "c"]
    assert 10 < server.now_s - gone_s < 60  # less than 60 s, as c has waited for a while
    assert [known.paused for known in server.sessions] == [True, False, False]


class Told(Estimator):
    """Knows when each session comes back."""

    name = "told"

    def __init__(self, back_s: dict[str, float]) -> None:
        self._back_s = back_s

    def remaining_s(self, session: SessionId, call: ToolCall | None, elapsed_s: float) -> float | None:
        return self._back_s.get(session)


@pytest.mark.parametrize(
    ("back_s", "gives_way"), [({"a": 1.0, "b": 500.0}, "b"), ({"a": 500.0, "b": 1.0}, "a")]
)
def test_who_is_predicted_to_be_back_last_gives_way(back_s: dict[str, float], gives_way: str) -> None:
    server = SmallServer(ActiveSet)
    server.sessions = SessionTable(Told(back_s))
    server.order = ActiveSet[Asked](server, server.sessions)
    for session in "ab":
        server.ask(session, 400)
    server.drain()
    server.ask("c", 400)
    server.drain()
    assert [known.id for known in server.sessions if known.paused] == [gives_way]


def test_a_finished_session_makes_room_at_once() -> None:
    server = SmallServer(ActiveSet)
    for session in "abc":
        server.ask(session, 400)
    while not server.done:
        server.step()
    server.sessions.finish(SessionId("a"))
    server.step()
    server.step()
    known = server.sessions.get(SessionId("c"))
    assert known is not None
    assert not known.paused


def test_a_session_that_gives_up_twice_and_finishes_between_two_steps_is_forgotten_once() -> None:
    server = SmallServer(ActiveSet)
    for _ in range(2):
        server.give_up(server.ask("a", 10))
    server.sessions.finish(SessionId("a"))
    server.step()
    server.ask("a", 10)
    server.drain()
    assert len(server.done) == 1


def test_one_cold_prompt_is_computed_at_a_time_beside_hot_ones() -> None:
    server = SmallServer(ActiveSet, capacity_blocks=9_000)
    server.ask("too much", 6_000)  # closes the gate
    server.ask("for all", 6_000)
    server.step()
    assert len(server.running) == 1
    assert server.order.prefill_cap_tokens == 0  # nobody hot
    server.ask("hot", 40)
    server.step()
    assert server.order.prefill_cap_tokens == 384
    assert [ticket.session for ticket in server.running] == ["too much", "hot"]
    assert len(server.order) == 1


def test_a_session_that_left_its_context_in_the_cache_takes_the_place_of_one_that_is_away() -> None:
    server = SmallServer(ActiveSet)
    for session in "ab":
        server.ask(session, 400)
    server.drain()
    server.now_s += 100
    server.ask("c", 400)
    server.drain()
    paused = [known.id for known in server.sessions if known.paused]
    assert paused == ["a"]
    server.cache([("a", depth) for depth in range(400)])
    server.ask("a", 400)
    assert [known.id for known in server.sessions if known.paused] == ["b"]


def test_tuning_is_of_the_class_made_for_it() -> None:
    patient = ActiveSet[RequestState].tuned(ActiveSet.tuning._replace(gamma=30.0))
    assert patient.tuning.gamma == 30.0
    assert ActiveSet.tuning.gamma < 30.0
