"""Tool calls in messages, as agents send them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.reuse.calls import MOST_ARGUMENT_CHARACTERS, ToolCall, joined
from keepwarm.reuse.messages import (
    MOST_LOOKED_AT,
    calls_of,
    calls_of_input,
    calls_of_message,
    calls_of_output,
)

USER = {"role": "user", "content": "Fix it."}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "ok"}


def asks(*calls: tuple[str, str]) -> dict[str, Any]:
    """An assistant message."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": str(number), "type": "function", "function": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(calls)
        ],
    }


@pytest.mark.parametrize(
    ("messages", "call"),
    [
        ([USER], None),
        ([], None),
        (None, None),
        ([USER, asks(("bash", "ls")), RESULT], ToolCall("bash", "ls")),
        ([USER, asks(("bash", "ls")), RESULT, USER], ToolCall("bash", "ls")),  # a reminder of the agent's
        ([USER, asks(("bash", "ls")), RESULT, {"role": "assistant", "content": "Done."}, USER], None),
        ([USER, asks(("bash", "ls"))], None),  # to be continued: nothing ran yet
        ([USER, asks(("bash", "ls"), ("bash", "pwd")), RESULT], ToolCall("bash", "ls\npwd")),
        ([USER, asks(("read", "a"), ("bash", "b")), RESULT], ToolCall("bash+read", "a\nb")),
        (
            [USER, {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}, RESULT],
            ToolCall("f", "{}"),
        ),
        ([USER, {"role": "assistant", "tool_calls": iter(())}, RESULT], None),  # not ours to use up
    ],
)
def test_what_ran_before_a_chat_request(messages: object, call: ToolCall | None) -> None:
    assert calls_of(messages) == call


def test_what_ran_before_a_request_of_the_responses_api() -> None:
    first = {"type": "function_call", "call_id": "1", "name": "shell", "arguments": "a"}
    second = {"type": "custom_tool_call", "call_id": "2", "name": "patch", "input": "b"}
    results = [
        {"type": "function_call_output", "call_id": "1", "output": ""},
        {"type": "custom_tool_call_output", "call_id": "2", "output": ""},
    ]
    assert calls_of_input([USER, first, second, *results]) == ToolCall("patch+shell", "a\nb")
    assert calls_of_input([USER, first, results[0], second, results[1]]) == ToolCall("patch", "b")
    assert calls_of_input([USER, first, second]) is None
    assert calls_of_input(results) is None  # the calls are stored at the server
    assert calls_of_input("Hello?") is None
    answer = {"type": "message", "role": "assistant", "content": []}
    assert calls_of_input([USER, first, results[0], answer, USER]) is None
    assert calls_of_output([answer, first]) == ToolCall("shell", "a")
    assert calls_of_output([answer]) is None


def test_only_the_end_of_a_long_request_is_looked_at() -> None:
    assert calls_of([asks(("bash", "ls")), *[RESULT] * (MOST_LOOKED_AT - 1)]) == ToolCall("bash", "ls")
    assert calls_of([asks(("bash", "ls")), *[RESULT] * MOST_LOOKED_AT]) is None


def test_a_call_of_megabytes_is_cut() -> None:
    message = asks(("write", "x" * 10_000_000), ("write", "y" * 10_000_000))
    call = calls_of_message(message)
    assert call is not None
    assert len(call.arguments) <= MOST_ARGUMENT_CHARACTERS
    assert joined([]) is None


names = ("role", "tool_calls", "function_call", "function", "name", "arguments", "type", "input", "custom")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(("assistant", "function_call")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(names), inner, max_size=5),
    max_leaves=12,
)


@given(values)
def test_whatever_a_client_sends(value: object) -> None:
    for read in (calls_of, calls_of_input, calls_of_output, calls_of_message):
        call = read(value)
        assert call is None or call == call.bounded()
        call = read([value, {"role": "tool"}])
        assert call is None or call == call.bounded()
