"""Predicted against real time to reuse inside the plugin: what is counted, bounded, and never raised."""

from __future__ import annotations

import logging
import math
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators.base import Estimator
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.vllm.hints import metadata
from keepwarm.vllm.serving.counters import (
    NAMES,
    PREDICTION_OUTCOMES,
    ServingCounters,
    private_serving_counters,
    read_serving_counters,
    shared_serving_counters,
)
from keepwarm.vllm.serving.exposition import CacheWiseCollector
from keepwarm.vllm.serving.faults import ServingFaults
from keepwarm.vllm.serving.predictions import AWAY_S, MOST_GIVEN_UP, PredictedTable, outcome_of

A, B = SessionId("a"), SessionId("b")
TEN = ToolCall("ten", "")


class ByTool(Estimator):
    """Ten seconds for the tool ``ten``, and so on; nothing of any other."""

    name = "by-tool"
    seconds: ClassVar[dict[str, Any]] = {"ten": 10.0, "minute": 60.0, "hours": 90_000.0}

    def remaining_s(self, session: SessionId, call: ToolCall | None, elapsed_s: float) -> float | None:
        return None if call is None else self.seconds.get(call.tool)


def table(
    *, most: int = 100, counters: ServingCounters | None = None, estimator: Estimator | None = None
) -> tuple[PredictedTable, ServingCounters, ServingFaults]:
    counters = counters or private_serving_counters()
    faults = ServingFaults(counters, 32)
    return PredictedTable(estimator or ByTool(), most, counters, faults), counters, faults


def counted(counters: ServingCounters) -> dict[str, int]:
    """What is above 0 of outcomes and reasons."""
    names = [f"{known}_{one}" for known, outcomes in PREDICTION_OUTCOMES.items() for one in outcomes]
    names += ["unpredicted_unknown", "unpredicted_human", "fault_reuse"]
    return {name: count for name in names if (count := counters.get(name))}


def serve(sessions: SessionTable, session: SessionId, at_s: float) -> None:
    """A request that takes no time."""
    sessions.arrived(session, 1, at_s)
    sessions.ended(session, 1, at_s)


class Uniform(ByTool):
    """As ``ByTool``, and the tool ``ten`` takes from 0 to 40 seconds, each as likely."""

    def stays_away(
        self, session: SessionId, call: ToolCall | None, elapsed_s: float, longer_s: float
    ) -> float | None:
        return None if call is None or call.tool != "ten" else max(0.0, 1 - longer_s / 40)


@pytest.mark.parametrize(
    ("real_s", "outcome"),
    [(0, "early"), (8.9, "early"), (9.1, "middle"), (30.9, "middle"), (31.1, "late"), (3_000, "late")],
)
def test_early_and_late_are_quarters_and_a_second(real_s: float, outcome: str) -> None:
    assert outcome_of(Uniform(), A, TEN, real_s) == outcome
    assert outcome_of(Uniform(), A, ToolCall("other", ""), real_s) == "middle"


@pytest.mark.parametrize(
    ("real_s", "outcome"),
    [(8.9, "early"), (9, "middle"), (10.9, "middle"), (11, "late")],
)
def test_without_a_distribution_it_is_a_second(real_s: float, outcome: str) -> None:
    assert outcome_of(ByTool(), A, TEN, real_s) == outcome


def test_a_right_model_is_early_and_late_in_a_quarter_of_calls() -> None:
    dice = random.Random(1)
    found = Counter(outcome_of(Uniform(), A, TEN, dice.uniform(0, 40)) for _ in range(4_000))
    assert 0.2 < found["early"] / 4_000 < 0.25
    assert 0.2 < found["late"] / 4_000 < 0.25


def test_what_was_predicted_is_compared_with_what_came() -> None:
    sessions, counters, _ = table()
    for back_s, outcome in ((104.0, "early"), (110.5, "middle"), (190.0, "late")):
        serve(sessions, A, 100.0)
        sessions.doing(A, TEN, 100.0)
        assert sessions.open_predictions == 1
        sessions.returns(A)
        sessions.arrived(A, 1, back_s)
        assert counters.get(f"meanwhile_{outcome}") == 1
        assert sessions.open_predictions == 0
        sessions.ended(A, 1, back_s)
    assert counters.get("meanwhile_predicted_seconds_millionths") == 30_000_000
    assert counters.get("meanwhile_real_seconds_millionths") == (4 + 10.5 + 90) * 1_000_000
    assert counters.get("meanwhile_ratio_millionths") == 400_000 + 1_050_000 + 9_000_000


def test_the_start_that_was_told_counts_and_the_last_call_stands() -> None:
    sessions, counters, _ = table()
    serve(sessions, A, 0.0)
    sessions.doing(A, ToolCall("minute", ""), 5.0)
    sessions.doing(A, TEN, 50.0)
    sessions.arrived(A, 1, 60.0)
    assert counted(counters) == {"meanwhile_middle": 1}
    assert counters.get("meanwhile_real_seconds_millionths") == 10_000_000


def test_a_call_that_only_the_next_request_tells_was_known_afterwards() -> None:
    sessions, counters, _ = table()
    params = SimpleNamespace(extra_args=None)
    metadata.attach(params, TEN)
    serve(sessions, A, 0.0)
    sessions.returns(A)
    metadata.tell(sessions, A, SimpleNamespace(sampling_params=params))
    sessions.arrived(A, 1, 10.0)
    assert counted(counters) == {"afterwards_middle": 1}
    # The order of events of another session does not matter: it is about who returns.
    sessions.ended(A, 1, 12.0)
    serve(sessions, B, 12.0)
    sessions.returns(A)
    sessions.doing(B, TEN, 12.0)
    sessions.arrived(A, 1, 13.0)
    sessions.arrived(B, 1, 22.0)
    assert counted(counters) == {"afterwards_middle": 1, "meanwhile_middle": 1, "unpredicted_unknown": 1}


def test_what_could_not_be_predicted_is_counted() -> None:
    sessions, counters, _ = table()
    serve(sessions, A, 0.0)  # a first request is no return
    assert counted(counters) == {}
    sessions.arrived(A, 1, 1.0)
    sessions.arrived(A, 1, 2.0)  # beside another one: it was not away
    assert counted(counters) == {"unpredicted_unknown": 1}
    sessions.ended(A, 1, 3.0)
    sessions.ended(A, 1, 4.0)
    sessions.doing(A, TEN, 4.0)
    sessions.awaits_human(A, 5.0)
    sessions.arrived(A, 1, 14.0)
    assert counted(counters) == {"unpredicted_unknown": 1, "unpredicted_human": 1}


def test_sessions_that_never_return_are_counted_once() -> None:
    sessions, counters, _ = table(most=3)
    for name in "abcd":
        serve(sessions, SessionId(name), 0.0)
        sessions.doing(SessionId(name), TEN, 0.0)
    assert counted(counters) == {"meanwhile_away": 1}  # pushed out
    sessions.finish(B)
    sessions.finish(B)
    assert counted(counters) == {"meanwhile_away": 1, "meanwhile_finished": 1}
    sessions.give_up(AWAY_S)
    assert sessions.open_predictions == 2
    sessions.give_up(AWAY_S + 1)
    assert counted(counters) == {"meanwhile_away": 3, "meanwhile_finished": 1}
    for name in "bcd":
        sessions.arrived(SessionId(name), 1, AWAY_S + 2)
    assert counted(counters) == {"meanwhile_away": 3, "meanwhile_finished": 1}


def test_one_that_returns_before_anybody_gave_it_up_was_away_all_the_same() -> None:
    sessions, counters, _ = table()
    serve(sessions, A, 0.0)
    sessions.doing(A, ToolCall("hours", ""), 0.0)
    sessions.arrived(A, 1, AWAY_S + 1)
    assert counted(counters) == {"meanwhile_away": 1}


def test_a_hundred_thousand_sessions_are_bounded() -> None:
    sessions, counters, _ = table(most=1_000)
    for number in range(100_000):
        session = SessionId(str(number))
        sessions.arrived(session, 1, number)
        sessions.ended(session, 1, number)
        sessions.doing(session, TEN, number)
    assert len(sessions) == sessions.open_predictions == 1_000
    assert counted(counters) == {"meanwhile_away": 99_000}
    sessions.give_up(math.inf)
    assert sessions.open_predictions == 0
    assert counters.get("meanwhile_away") == 100_000


def test_giving_up_is_bounded() -> None:
    sessions, counters, _ = table(most=10_000)
    for number in range(MOST_GIVEN_UP + 10):
        serve(sessions, SessionId(str(number)), 0.0)
        sessions.doing(SessionId(str(number)), TEN, 0.0)
    sessions.give_up(1e9)
    assert sessions.open_predictions == 10
    sessions.give_up(1e9)
    assert counted(counters) == {"meanwhile_away": MOST_GIVEN_UP + 10}


@pytest.mark.parametrize("back_s", [-1e12, 0.0, math.nan, -math.inf])
def test_a_clock_that_jumps_back_is_a_return_at_once(back_s: float) -> None:
    sessions, counters, _ = table()
    serve(sessions, A, 1_000.0)
    sessions.doing(A, TEN, 1_000.0)
    sessions.arrived(A, 1, back_s)
    assert counted(counters) == {"meanwhile_early": 1}
    assert counters.get("meanwhile_real_seconds_millionths") == 0


def test_a_clock_that_jumps_ahead_is_a_session_that_was_away() -> None:
    sessions, counters, _ = table()
    serve(sessions, A, 0.0)
    sessions.doing(A, TEN, 0.0)
    sessions.arrived(A, 1, math.inf)
    assert counted(counters) == {"meanwhile_away": 1}


@pytest.mark.parametrize("predicted", [math.nan, math.inf, -math.inf, None])
def test_a_prediction_that_is_no_number_is_none(predicted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ByTool, "seconds", {"ten": predicted})
    sessions, counters, _ = table()
    serve(sessions, A, 0.0)
    sessions.doing(A, TEN, 0.0)
    assert sessions.open_predictions == 0
    sessions.arrived(A, 1, 1.0)
    assert counted(counters) == {"unpredicted_unknown": 1}


@pytest.mark.parametrize("predicted", [-5, 0, 1e300])
def test_sums_stay_within_their_words(predicted: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ByTool, "seconds", {"ten": predicted})
    sessions, counters, _ = table()
    serve(sessions, A, 0.0)
    sessions.doing(A, TEN, 0.0)
    sessions.arrived(A, 1, AWAY_S)
    counters.publish()
    assert 0 <= counters.get("meanwhile_predicted_seconds_millionths") <= 86_400 * 10**6
    assert counters.get("meanwhile_ratio_millionths") <= AWAY_S * 10**9


def raises(*arguments: Any) -> Any:
    raise RuntimeError("on purpose")


@pytest.mark.parametrize("method", ["_predict", "_compare", "_predicted_s", "_count"])
@pytest.mark.parametrize("fault", [raises, lambda *_: "text", lambda *_: object()])
def test_a_fault_ends_the_comparison_and_nothing_else(
    method: str, fault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sessions, counters, faults = table()
    monkeypatch.setattr(sessions, method, fault)
    plain = SessionTable(ByTool(), 100)
    with caplog.at_level(logging.WARNING, "vllm.cachewise"):
        for both in (sessions, plain):
            for at_s in range(0, 400, 20):
                serve(both, A, at_s)
                both.doing(A, TEN, at_s + 1)
                both.awaits_human(B, at_s)
                both.finish(B)
                both.now_s = at_s + 5
    assert sessions.get(A) == plain.get(A)
    assert sessions.rank(A) == plain.rank(A)
    assert counters.get("fault_reuse") <= 1
    assert not faults.tripped
    if fault is raises:
        assert counters.get("fault_reuse") == 1
        assert sessions.open_predictions == 0
        assert len([r for r in caplog.records if "predictions are not compared any more" in r.message]) == 1


@pytest.mark.parametrize("predicted", ["soon", object(), [1.0], 1j])
def test_an_estimator_that_answers_nonsense(predicted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ByTool, "seconds", {"ten": predicted})
    sessions, counters, _ = table()
    serve(sessions, A, 0.0)
    sessions.doing(A, TEN, 0.0)
    serve(sessions, A, 1.0)
    assert counted(counters) == {"fault_reuse": 1}


class Account:
    """Every prediction's fate by a second way: a list of what happened to each session."""

    def __init__(self) -> None:
        self.idle: dict[str, tuple[float, ToolCall | None, float, bool, bool]] = {}
        self.outcomes = Counter[str]()

    def back(self, session: str, at_s: float, told: ToolCall | None) -> None:
        if session not in self.idle:
            return
        since_s, call, ended_s, human, finished = self.idle.pop(session)
        predicted = None if call is None or human else ByTool.seconds.get(call.tool)
        if finished and predicted is not None:
            self.outcomes["meanwhile_finished"] += 1
        if finished:
            return
        if predicted is not None:
            real_s = at_s - since_s
            name = "away" if real_s > AWAY_S else outcome_of(ByTool(), A, call, real_s)
            self.outcomes[f"meanwhile_{name}"] += 1
        elif at_s - since_s <= AWAY_S:
            late = None if told is None or human or call is not None else ByTool.seconds.get(told.tool)
            if human:
                self.outcomes["unpredicted_human"] += 1
            elif late is None:
                self.outcomes["unpredicted_unknown"] += 1
            else:
                self.outcomes[f"afterwards_{outcome_of(ByTool(), A, told, at_s - ended_s)}"] += 1


CALLS = st.sampled_from([None, TEN, ToolCall("minute", ""), ToolCall("other", ""), ToolCall("hours", "")])
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["request", "doing", "human", "finish"]),
        st.sampled_from("abc"),
        CALLS,
        st.sampled_from([0.5, 4.0, 15.0, 70.0, 4_000.0]),
    ),
    max_size=60,
)


@given(EVENTS)
def test_every_prediction_is_counted_once(events: list[tuple[str, str, ToolCall | None, float]]) -> None:
    sessions, counters, _ = table()
    account = Account()
    now_s = 0.0
    for kind, name, call, pause_s in events:
        now_s += pause_s
        session = SessionId(name)
        if kind == "request":
            account.back(name, now_s, call)
            params = SimpleNamespace(extra_args=None)
            if call is not None:
                metadata.attach(params, call)
            sessions.returns(session)
            metadata.tell(sessions, session, SimpleNamespace(sampling_params=params))
            serve(sessions, session, now_s)
            account.idle[name] = (now_s, None, now_s, False, False)
        elif name in account.idle:
            since_s, before, ended_s, human, finished = account.idle[name]
            if finished:
                continue
            if kind == "doing":
                sessions.doing(session, call, now_s)
                account.idle[name] = (now_s, call, ended_s, False, False)
            elif kind == "human":
                sessions.awaits_human(session, now_s)
                account.idle[name] = (since_s, before, ended_s, True, False)
            else:
                sessions.finish(session)
                account.idle[name] = (since_s, before, ended_s, human, True)
    for name in sorted(account.idle):
        account.back(name, now_s, None)
        sessions.arrived(SessionId(name), 1, now_s)
    assert counted(counters) == {name: count for name, count in account.outcomes.items() if count}
    assert sessions.open_predictions == 0


def test_a_scrape_adds_the_engines_up(tmp_path: Path) -> None:
    (tmp_path / "1.cachewise").write_bytes(b"\0" * 8 * len(NAMES))  # another layout
    counters = shared_serving_counters(tmp_path)
    (written,) = (path for path in tmp_path.iterdir() if path.name != "1.cachewise")
    (tmp_path / "2.cachewise").hardlink_to(written)
    counters.set("scheduling", 1)
    sessions, _, _ = table(counters=counters)
    serve(sessions, A, 0.0)
    sessions.doing(A, TEN, 0.0)
    sessions.arrived(A, 1, 15.0)
    counters.set("predictions_open", 4)
    counters.publish()
    assert len(list(read_serving_counters(tmp_path))) == 2
    registry = CollectorRegistry(auto_describe=False)
    registry.register(CacheWiseCollector(tmp_path))
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    lines = text.decode().splitlines()
    assert 'keepwarm_reuse_predictions_total{known="meanwhile",outcome="late"} 2.0' in lines
    assert 'keepwarm_reuse_predicted_seconds_sum{known="meanwhile"} 20.0' in lines
    assert 'keepwarm_reuse_real_seconds_sum{known="meanwhile"} 30.0' in lines
    assert 'keepwarm_reuse_real_seconds_count{known="meanwhile"} 2.0' in lines
    assert 'keepwarm_reuse_ratio_bucket{known="meanwhile",le="1.4"} 0.0' in lines
    assert 'keepwarm_reuse_ratio_bucket{known="meanwhile",le="2.0"} 2.0' in lines
    assert "keepwarm_reuse_predictions_open 8.0" in lines
    assert 'keepwarm_reuse_predictions_total{known="afterwards",outcome="away"} 0.0' not in lines
