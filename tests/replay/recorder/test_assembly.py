"""Streams put together, however the network cuts them."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from keepwarm.replay.recorder.assembly import ChoicesAssembly
from keepwarm.replay.recorder.capture import Captured, capture_for
from keepwarm.replay.recorder.sse import EventSplitter
from tests.replay.recorder.stub import chat_answer, chat_chunk, chat_chunks, event

STREAM = [(b"content-type", b"text/event-stream")]


def assembled(*chunks: dict[str, Any]) -> dict[str, Any]:
    assembly = ChoicesAssembly()
    for chunk in chunks:
        assembly.add(chunk)
    answer = assembly.result()
    assert answer is not None
    return json.loads(json.dumps(answer))


def captured(data: bytes, cuts: list[int]) -> Captured:
    capture = capture_for("/v1/chat/completions", STREAM)
    edges = [0, *sorted(cuts), len(data)]
    for start, end in itertools.pairwise(edges):
        capture.feed(data[start:end])
    return capture.result()


WHOLE = b"".join(map(event, chat_chunks("Hél", "lo\n", "."))) + b"data: [DONE]\n\n"


@given(st.lists(st.integers(0, len(WHOLE)), max_size=12), st.booleans())
def test_it_does_not_matter_where_chunks_end(cuts: list[int], carriage_returns: bool) -> None:
    data = WHOLE.replace(b"\n", b"\r\n") if carriage_returns else WHOLE
    result = captured(data, cuts)
    assert result.response is not None
    assert json.loads(bytes(result.response)) == chat_answer("Héllo\n.")
    assert result.error is None


@given(st.integers(0, len(WHOLE)))
def test_a_stream_that_ends_anywhere_keeps_what_came(end: int) -> None:
    result = captured(WHOLE[:end], [])
    text = "" if result.response is None else json.loads(bytes(result.response))["choices"]
    assert "Héllo\n.".startswith(text[0]["message"].get("content", "") if text else "")
    has_its_end = b'"finish_reason": "stop"}]}' in WHOLE[:end]
    assert result.error == (None if has_its_end else "the stream ended without its last event")


def test_data_over_several_lines_and_other_fields() -> None:
    splitter = EventSplitter()
    data = b": note\nid: 3\nevent: x\ndata: a\ndata:b\n\n\n\ndata: c"
    assert list(splitter.feed(data)) == [b"a\nb"]
    assert splitter.finish() == b"c"
    assert splitter.finish() is None


def test_several_choices_interleaved() -> None:
    def piece(index: int, text: str) -> dict[str, Any]:
        return {"choices": [{"index": index, "delta": {"content": text}}]}

    answer = assembled(piece(1, "b"), piece(0, "a"), piece(1, "B"), piece(0, "A"))
    assert [choice["message"]["content"] for choice in answer["choices"]] == ["aA", "bB"]


def test_what_engines_add_is_kept() -> None:
    answer = assembled(
        chat_chunk({"role": "assistant", "reasoning_content": "so"}, prompt_token_ids=[1, 2], usage=None),
        chat_chunk({"reasoning_content": ", then"}),
        {
            "choices": [
                {"index": 0, "delta": {"content": "x"}, "token_ids": [7], "logprobs": {"content": [{"t": 1}]}}
            ]
        },
        {"choices": [{"index": 0, "delta": {}, "token_ids": [8, 9], "logprobs": {"content": [{"t": 2}]}}]},
        chat_chunk({}, "stop", prompt_token_ids=None),
    )
    choice = answer["choices"][0]
    assert answer["prompt_token_ids"] == [1, 2]
    assert choice["message"]["reasoning_content"] == "so, then"
    assert choice["token_ids"] == [7, 8, 9]
    assert choice["logprobs"] == {"content": [{"t": 1}, {"t": 2}]}
    assert choice["finish_reason"] == "stop"


def test_a_tool_whose_name_is_repeated() -> None:
    def piece(arguments: str) -> dict[str, Any]:
        call = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
        return chat_chunk({"tool_calls": [call]})

    answer = assembled(piece('{"a"'), piece(": 1}"))
    assert answer["choices"][0]["message"]["tool_calls"] == [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    ]


def test_tools_called_without_an_index() -> None:
    calls = [{"id": name, "function": {"name": name, "arguments": "{}"}} for name in ("f", "g")]
    answer = assembled(*(chat_chunk({"tool_calls": [call]}) for call in calls))
    assert answer["choices"][0]["message"]["tool_calls"] == calls


def test_when_the_first_token_came() -> None:
    capture = capture_for("/v1/chat/completions", STREAM)
    chunks = [
        chat_chunk({"role": "assistant", "content": ""}),
        chat_chunk({"content": "a"}),
        chat_chunk({"content": "b"}),
    ]
    assert [capture.feed(event(chunk)) for chunk in chunks] == [False, True, False]
