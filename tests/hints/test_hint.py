"""What is told, as the engine believes it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import MOST_ARGUMENT_CHARACTERS, MOST_TOOL_CHARACTERS, ToolCall
from keepwarm.vllm.hints.apply import HintCounts, apply
from keepwarm.vllm.hints.hint import MOST_ELAPSED_S, Hint, Kind, Refused, read_hint
from tests.hints.endpoint import Watching, idle_table

A = SessionId("a")
LS = ToolCall("bash", "ls")


def read(told: Any) -> Hint:
    return read_hint(A, told if isinstance(told, bytes) else json.dumps(told).encode())


def test_a_tool_with_its_arguments_as_text_or_object() -> None:
    assert read({"tool": "bash", "arguments": "ls"}).call == LS
    assert read({"tool": "bash"}).call == ToolCall("bash", "")
    arguments = {"b": "ü", "a": [1, {}]}  # as the client wrote it: predictors are fitted to that
    assert read({"tool": "bash", "arguments": arguments}).call == ToolCall("bash", '{"b":"ü","a":[1,{}]}')


def test_when_a_tool_started() -> None:
    assert read({"tool": "x"}).elapsed_s == 0
    assert read({"tool": "x", "elapsed_s": 2.5}).elapsed_s == 2.5
    started = time.time() - 100
    assert 100 <= read({"tool": "x", "started": started}).elapsed_s < 130
    assert read({"tool": "x", "started": time.time() + 20}).elapsed_s == 0  # clocks differ


def test_what_is_long_is_cut() -> None:
    call = read({"tool": "t" * 5_000, "arguments": "a" * 9_000}).call
    assert call == ToolCall("t" * MOST_TOOL_CHARACTERS, "a" * MOST_ARGUMENT_CHARACTERS)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (b"", "no JSON"),
        (b"\xff", "no JSON"),
        (b"9" * 9_000, "no JSON"),
        ([], "no JSON object"),
        ("tool", "no JSON object"),
        ({}, "exactly one"),
        ({"tool": "x", "finished": True}, "exactly one"),
        ({"idle": True, "arguments": ""}, "beside 'idle'"),
        ({"idle": False}, "'idle' takes true"),
        ({"finished": 1}, "'finished' takes true"),
        ({"awaits": True}, "'awaits' takes \"human\""),
        ({"tool": ""}, "not empty"),
        ({"tool": None}, "not empty"),
        ({"tool": "x", "arguments": ["ls"]}, "'arguments'"),
        ({"tool": "x", "argument": "ls"}, "unknown field 'argument'"),
        ({"tool": "x", "started": 1, "elapsed_s": 1}, "is enough"),
        ({"tool": "x", "elapsed_s": -1}, "negative"),
        ({"tool": "x", "elapsed_s": True}, "number of seconds"),
        ({"tool": "x", "elapsed_s": "1"}, "number of seconds"),
        ({"tool": "x", "elapsed_s": 10**400}, "number of seconds"),
        ({"tool": "x", "elapsed_s": float("nan")}, "number of seconds"),
        ({"tool": "x", "elapsed_s": MOST_ELAPSED_S + 1}, "more than"),
        ({"tool": "x", "started": 0}, "more than"),
        ({"tool": "x", "started": time.time() * 1000}, "future"),
    ],
)
def test_what_is_refused(told: Any, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        read(told)
    assert refused.value.status == 400
    assert reason in refused.value.reason
    assert len(refused.value.reason) < 200


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
fields = st.sampled_from(("tool", "arguments", "started", "elapsed_s", "idle", "awaits", "finished", "x"))
texts = st.text(st.characters(), max_size=40)  # halves of surrogate pairs too


@given(st.dictionaries(fields, json_values | texts | st.just(True) | st.just("human")))
def test_any_object_is_a_hint_or_refused(told: dict[str, Any]) -> None:
    try:
        hint = read(told)
    except Refused:
        return
    assert 0 <= hint.elapsed_s <= MOST_ELAPSED_S
    assert (hint.call is not None) == (hint.kind is Kind.TOOL)
    if hint.call is not None:
        "".join(hint.call).encode()


def hint(kind: Kind, call: ToolCall | None = None, *, elapsed_s: float = 0.0, ago_s: float = 0.0) -> Hint:
    """One that came in ``ago_s`` before it is applied."""
    return Hint(A, kind, call, elapsed_s, time.monotonic() - ago_s)


def test_the_time_of_a_tool_is_counted_from_its_start() -> None:
    table, counts = idle_table("a", now_s=10.0), HintCounts()
    apply(hint(Kind.TOOL, LS, elapsed_s=3.0, ago_s=2.0), table, 20.0, counts)
    table.arrived(A, 6, 25.0)
    estimator = table.estimator
    assert isinstance(estimator, Watching)
    ((call, duration_s),) = estimator.seen
    assert call == LS
    assert duration_s == pytest.approx(10.0, abs=4.0)  # from 15 to 25


def test_no_tool_started_before_the_answer_that_asked_for_it() -> None:
    table, counts = idle_table("a", now_s=10.0), HintCounts()
    apply(hint(Kind.TOOL, LS, elapsed_s=5_000.0), table, 20.0, counts)
    known = table.get(A)
    assert known is not None
    assert known.since_s == 10.0


@pytest.mark.parametrize("kind", [Kind.TOOL, Kind.IDLE, Kind.HUMAN])
def test_what_a_session_did_is_over_once_its_request_is_there(kind: Kind) -> None:
    table, counts = idle_table("a"), HintCounts()
    table.arrived(A, 6, 11.0)
    apply(hint(kind, LS if kind is Kind.TOOL else None), table, 12.0, counts)
    table.ended(A, 7, 13.0)
    known = table.get(A)
    assert known is not None
    assert (known.call, known.awaits_human, known.since_s) == (None, False, 13.0)
    assert (counts.late, counts.applied) == (1, 0)


def test_the_end_may_be_told_while_the_last_request_runs() -> None:
    table, counts = idle_table("a"), HintCounts()
    table.arrived(A, 6, 11.0)
    apply(hint(Kind.FINISHED, ago_s=5.0), table, 12.0, counts)  # of before that request
    apply(hint(Kind.FINISHED), table, 12.0, counts)
    known = table.get(A)
    assert known is not None
    assert known.finished
    assert (counts.late, counts.applied) == (1, 1)


def test_a_session_that_sent_nothing_stays_unknown() -> None:
    table, counts = idle_table("b"), HintCounts()
    for kind in Kind:
        apply(hint(kind, LS), table, 12.0, counts)
    assert [known.id for known in table] == ["b"]
    assert counts.unknown == len(Kind)


@given(st.lists(st.tuples(st.sampled_from(Kind), st.floats(0, MOST_ELAPSED_S), st.floats(0, 50)), max_size=8))
def test_no_row_of_hints_moves_a_session_into_the_future(told: list[tuple[Kind, float, float]]) -> None:
    table = idle_table("a", now_s=10.0)
    for kind, elapsed_s, ago_s in told:
        apply(hint(kind, LS, elapsed_s=elapsed_s, ago_s=ago_s), table, 100.0, HintCounts())
    known = table.get(A)
    assert known is not None
    assert 10.0 <= known.since_s <= 100.0
