"""The estimators that learn while they serve, and the truth."""

from __future__ import annotations

import math
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators._remembered import MOST_TOOLS, ByTool
from keepwarm.reuse.estimators.base import Estimator
from keepwarm.reuse.estimators.oracle import Oracle
from keepwarm.reuse.estimators.tool_mean import ToolMean
from keepwarm.reuse.estimators.ttl import EVICTION_COST_S, MOST_DURATIONS, Ttl, best_ttl_s
from tests.policies.test_conformance import entries

SESSION = SessionId("s")
LEARNING: list[type[Estimator]] = [ToolMean, Ttl]

durations = st.floats(0, 1e6)
elapsed = st.floats(0, 1e9)


def call(tool: str = "bash") -> ToolCall:
    return ToolCall(tool, "{}")


def learnt(make: type[Estimator], *durations_s: float, tool: str = "bash") -> Estimator:
    estimator = make()
    for duration_s in durations_s:
        estimator.observe(call(tool), duration_s)
    return estimator


@pytest.mark.parametrize("make", LEARNING)
@given(st.lists(durations, max_size=40), elapsed)
def test_a_call_never_looks_over(make: type[Estimator], seen: list[float], elapsed_s: float) -> None:
    remaining_s = learnt(make, *seen).remaining_s(SESSION, call(), elapsed_s)
    assert remaining_s is None or remaining_s > 0 or (elapsed_s == 0 and not any(seen))


@pytest.mark.parametrize("make", LEARNING)
@pytest.mark.parametrize("nonsense", [math.nan, math.inf, -1.0])
def test_nothing_is_learned_from_nonsense(make: type[Estimator], nonsense: float) -> None:
    estimator = learnt(make, 4.0, nonsense, 4.0)
    assert estimator.remaining_s(SESSION, call(), 1.0) == learnt(make, 4.0, 4.0).remaining_s(
        SESSION, call(), 1.0
    )


@pytest.mark.parametrize("make", LEARNING)
def test_what_no_tool_did_says_nothing_of_tools(make: type[Estimator]) -> None:
    estimator = make()
    before = estimator.remaining_s(SESSION, call(), 1.0)
    for _ in range(50):
        estimator.observe(None, 3600.0)
    assert estimator.remaining_s(SESSION, call(), 1.0) == before


@pytest.mark.parametrize("make", LEARNING)
def test_memory_does_not_grow_with_tools_or_calls(make: type[Estimator]) -> None:
    estimator, sizes = make(), []
    for number in range(4 * MOST_TOOLS):
        for _ in range(3):
            estimator.observe(call(f"tool-{number}"), 1.0)
        sizes.append(entries(estimator))
    assert max(sizes[2 * MOST_TOOLS :]) <= max(sizes[: 2 * MOST_TOOLS])


def test_the_tool_heard_of_longest_ago_is_forgotten() -> None:
    by_tool = ByTool(list)
    for number in range(MOST_TOOLS):
        by_tool.heard_of(str(number))
    by_tool.heard_of("0")
    by_tool.heard_of("one more")
    assert len(by_tool) == MOST_TOOLS
    assert by_tool.get("0") is not None
    assert by_tool.get("1") is None


def test_tool_mean_knows_nothing_before_the_first_call() -> None:
    assert ToolMean().remaining_s(SESSION, call(), 1.0) is None
    assert learnt(ToolMean, 3.0).remaining_s(SESSION, None, 1.0) is None


def test_tool_mean_is_the_mean_of_the_tool_less_what_has_passed() -> None:
    estimator = learnt(ToolMean, 2.0, 4.0, 6.0)
    estimator.observe(call("test"), 100.0)
    assert estimator.remaining_s(SESSION, call(), 1.0) == 3.0
    assert estimator.remaining_s(SESSION, call("test"), 1.0) == 99.0
    assert estimator.remaining_s(SESSION, call("never seen"), 1.0) == 27.0


def test_a_call_beyond_its_mean_is_further_away_the_longer_it_runs() -> None:
    estimator = learnt(ToolMean, 4.0)
    assert [estimator.remaining_s(SESSION, call(), elapsed_s) for elapsed_s in (3.5, 4.0, 9.0)] == [0.5, 4, 9]


def test_the_mean_moves() -> None:
    estimator = learnt(ToolMean, *[1.0] * 500, *[9.0] * 100)
    remaining_s = estimator.remaining_s(SESSION, call(), 0.0)
    assert remaining_s is not None
    assert 8 < remaining_s < 9


def best_by_trial(durations_s: list[float], cost_s: float) -> float:
    """The gain of every candidate, one after the other."""
    count = len(durations_s)

    def gain(ttl_s: float) -> float:
        back = sum(duration_s <= ttl_s for duration_s in durations_s) if ttl_s else 0
        return back * cost_s / count - sum(min(duration_s, ttl_s) for duration_s in durations_s) / count

    return max([0.0, *sorted(durations_s)], key=gain)


@given(st.lists(st.integers(1, 200).map(float), min_size=1, max_size=20), st.sampled_from([1.0, 16.0, 64.0]))
def test_the_time_to_live_is_the_best_one(seen: list[float], cost_s: float) -> None:
    chosen, best = best_ttl_s(deque(seen), cost_s), best_by_trial(seen, cost_s)
    if chosen != best:  # as good, but for rounding

        def gain(ttl_s: float) -> float:
            back = sum(duration_s <= ttl_s for duration_s in seen) if ttl_s else 0
            return back * cost_s - sum(min(duration_s, ttl_s) for duration_s in seen)

        assert gain(chosen) == pytest.approx(gain(best))


def test_a_session_within_its_time_to_live_comes_after_all_that_outlived_theirs() -> None:
    estimator = learnt(Ttl, *[2.0] * 8)
    alive = estimator.remaining_s(SESSION, call(), 1.5)
    expired = estimator.remaining_s(SESSION, call(), 2.5)
    long_gone = estimator.remaining_s(SESSION, call(), 500.0)
    nobody_knows = estimator.remaining_s(SESSION, None, 3.0)
    assert alive == 0.5
    assert long_gone > nobody_knows > expired > 1e6  # type: ignore[operator]


def test_until_enough_was_seen_a_session_lives_for_what_losing_it_costs() -> None:
    estimator = Ttl()
    assert estimator.ttl_s("bash") == EVICTION_COST_S
    for _ in range(8):
        estimator.observe(call("bash"), 3.0)
    assert estimator.ttl_s("bash") == 3.0
    assert estimator.ttl_s("never seen") == 3.0


def test_a_tool_that_takes_longer_than_an_eviction_costs_is_not_waited_for() -> None:
    estimator = learnt(Ttl, *[600.0] * 8)
    assert isinstance(estimator, Ttl)
    assert estimator.ttl_s("bash") == 0.0
    remaining_s = estimator.remaining_s(SESSION, call(), 0.0)
    assert remaining_s is not None
    assert remaining_s > 1e6


def test_the_time_to_live_follows_what_was_seen_lately() -> None:
    estimator = learnt(Ttl, *[600.0] * MOST_DURATIONS, *[2.0] * MOST_DURATIONS)
    assert isinstance(estimator, Ttl)
    assert estimator.ttl_s("bash") == 2.0


def test_the_oracle_counts_down_and_admits_what_it_does_not_know() -> None:
    oracle = Oracle({SESSION: 30.0}.get)
    assert oracle.remaining_s(SESSION, call(), 10.0) == 20.0
    assert oracle.remaining_s(SESSION, None, 31.0) == 0.0
    assert oracle.remaining_s(SessionId("other"), call(), 10.0) is None
