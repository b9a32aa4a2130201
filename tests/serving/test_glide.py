"""Many steps at once are the same as one after another: event for event, and to the last bit of the clock."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm.scheduling.fcfs import Fcfs
from keepwarm.scheduling.orders import ORDERS
from keepwarm.serving.base import ServerConfig
from keepwarm.serving.ledger import Served
from keepwarm.workload.base import SessionTrace
from tests.serving.runs import BLOCK, EVICTIONS, Told, run, session, sessions, turn

CAPACITY = 14


def config_of(**limits: float) -> ServerConfig:
    settings = {"max_request_tokens": CAPACITY * BLOCK + 1, "step_tokens": 7, **limits}
    return ServerConfig(BLOCK, CAPACITY, **settings)  # type: ignore[arg-type]


def story(told: Told) -> list[object]:
    """All that can be told apart."""

    def of(one: Served) -> tuple[object, ...]:
        times = (one.arrival_s, one.admitted_s, one.first_token_s, one.end_s)
        return one.client.session, one.turn, *times, one.state.preemptions

    loop = told.loop
    window = told.ledger.window._replace(recomputed_blocks=0, probed_blocks=0)
    return [*map(of, told.ledger.served), window, loop.now_s, told.free_order, loop.engine.lookups]


@pytest.mark.parametrize("eviction", EVICTIONS)
@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=60, deadline=None)
@given(
    traces=sessions(most_blocks=CAPACITY - 1),
    step_tokens=st.sampled_from([3, 7, 16, 64]),
    max_running=st.sampled_from([1, 2, 8]),
    watermark=st.sampled_from([0.0, 0.2]),
    cap=st.sampled_from([0, 5]),
)
def test_gliding_is_stepping(
    order: str, eviction: str, traces: list, step_tokens: int, max_running: int, watermark: float, cap: int
) -> None:
    config = config_of(
        step_tokens=step_tokens,
        max_running_requests=max_running,
        watermark=watermark,
        long_prefill_tokens=cap,
    )
    stepped = run(traces, config, order=order, eviction=eviction, glides=False)
    gliding = run(traces, config, order=order, eviction=eviction, glides=True)
    assert gliding.events == stepped.events
    assert story(gliding) == story(stepped)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=100, deadline=None)
@given(
    traces=sessions(most_blocks=CAPACITY - 1),
    step_tokens=st.sampled_from([3, 7, 16, 64]),
    max_running=st.sampled_from([1, 2, 8]),
    cap=st.sampled_from([0, 5]),
)
def test_gliding_is_stepping_where_blocks_are_taken_later(
    order: str, traces: list, step_tokens: int, max_running: int, cap: int
) -> None:
    config = config_of(step_tokens=step_tokens, max_running_requests=max_running, long_prefill_tokens=cap)
    stepped = run(traces, config, order=order, records=False, glides=False)
    gliding = run(traces, config, order=order, records=False, glides=True)
    assert gliding.loop.engine.pool.grows_unheard
    assert story(gliding) == story(stepped)


@settings(max_examples=100, deadline=None)
@given(traces=sessions(most_blocks=CAPACITY - 1), order=st.sampled_from(sorted(ORDERS)))
def test_every_request_is_served_once_and_in_the_order_of_its_session(traces: list, order: str) -> None:
    told = run(traces, config_of(), order=order, eviction="cachewise")
    served = [(one.client.session, one.turn) for one in told.ledger.served]
    assert sorted(served) == sorted(
        (trace.id, number) for trace in traces for number in range(len(trace.turns))
    )
    for one in told.ledger.served:
        assert one.arrival_s <= one.admitted_s < one.first_token_s <= one.end_s
    by_session: dict[str, float] = {}
    for one in sorted(told.ledger.served, key=lambda one: one.turn):
        gap_s = one.client.trace.turns[one.turn].gap_s
        assert one.arrival_s == by_session.get(one.client.session, 0.0) + gap_s * (one.turn > 0)
        by_session[one.client.session] = one.end_s
    window = told.ledger.window
    assert window.requests == len(served)
    assert window.tokens == sum(turn.prompt_tokens + turn.output_tokens for t in traces for turn in t.turns)


@pytest.mark.parametrize("eviction", EVICTIONS)
def test_gliding_is_stepping_where_memory_runs_out(eviction: str) -> None:
    traces = [session(name, turn(17, 16, blocks), turn(33, 9, blocks)) for name, blocks in _DISJOINT.items()]
    stepped = run(traces, config_of(), eviction=eviction, glides=False)
    gliding = run(traces, config_of(), eviction=eviction, glides=True)
    assert stepped.ledger.window.preemptions > 0
    assert stepped.ledger.window.evicted_blocks > 0
    assert gliding.events == stepped.events
    assert story(gliding) == story(stepped)


def test_gliding_is_stepping_for_twins() -> None:
    """Three compute the same blocks at the same time, so that there are several of each."""
    traces = [session(name, turn(26, 9, range(6)), turn(30, 2, range(7))) for name in "abc"]
    config = config_of(step_tokens=64, max_running_requests=2)
    stepped = run(traces, config, order="cachewise", glides=False)
    gliding = run(traces, config, order="cachewise", glides=True)
    assert gliding.events == stepped.events
    assert story(gliding) == story(stepped)
    assert gliding.ledger.window.hit_tokens > 0


def test_a_request_that_did_not_fit_is_looked_up_again_when_another_computes_its_prefix() -> None:
    """b needs 11 blocks of the 10 that a leaves, until a has filled some that b can share."""
    traces = [
        session("c", turn(3, 40)),
        session("a", turn(40, 8, range(10))),
        session("b", turn(41, 3, range(10))),
    ]
    config = config_of(step_tokens=64, long_prefill_tokens=3)._replace(capacity_blocks=12)
    stepped = run(traces, config, records=False, glides=False)
    gliding = run(traces, config, records=False, glides=True)
    b = next(one for one in gliding.ledger.served if one.client.session == "b")
    assert b.admitted_s > 0
    assert b.state.request.prompt_tokens == 41
    assert story(gliding) == story(stepped)
    assert gliding.ledger.window.hit_tokens > 0


class Nosy(Fcfs[Any]):
    """Looks at the cache at the beginning of each step."""

    seen: ClassVar[list[list[bool]]] = []

    def begin_step(self, now_s: float) -> None:
        self.seen.append([self.server.is_cached(block) for block in range(12)])


def test_who_looks_at_the_cache_sees_what_it_holds_by_then() -> None:
    traces = [session("a", turn(49, 3, range(12))), session("b", turn(9, 30))]
    Nosy.seen.clear()
    run(traces, config_of(), order=Nosy, records=False, glides=False)
    stepped = list(Nosy.seen)
    Nosy.seen.clear()
    run(traces, config_of(), order=Nosy, records=False, glides=True)
    assert Nosy.seen == stepped
    assert any(any(seen) and not all(seen) for seen in stepped)


def test_a_glide_is_long() -> None:
    """What gliding is for: few rounds of the loop for many steps."""
    traces = [session("a", turn(24, 30)), session("b", turn(5, 47))]
    config = config_of(step_tokens=4)
    rounds, steps = rounds_and_steps(traces, config, glides=True)
    stepped_rounds, stepped_steps = rounds_and_steps(traces, config, glides=False)
    assert steps == stepped_steps == stepped_rounds
    assert rounds < steps / 5


def rounds_and_steps(traces: list[SessionTrace], config: ServerConfig, *, glides: bool) -> tuple[int, int]:
    told = run(traces, config, glides=glides)
    return told.rounds, told.loop.steps


_DISJOINT = {"a": range(8), "b": range(10, 18), "c": range(20, 28)}
