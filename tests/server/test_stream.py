"""Streams of completions and of chats: the text, the time of the first content, the reason if it is none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from keepwarm.server.stream import StreamReader

USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}


def events(*chunks: dict[str, Any] | str) -> Iterator[str]:
    for chunk in chunks:
        yield f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}"
        yield ""


def delta(content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": content, **more}]}


def usage() -> dict[str, Any]:
    return {"choices": [], "usage": USAGE}


def test_a_chat() -> None:
    role = delta({"role": "assistant", "content": ""})
    found = StreamReader().read(
        events(
            role,
            delta({"content": "Hel"}),
            delta({"content": "lo"}, finish_reason="stop"),
            usage(),
            "[DONE]",
        )
    )
    assert found.text == "Hello"
    assert (found.prompt_tokens, found.cached_tokens, found.output_tokens) == (9, 4, 2)
    assert found.finish_reason == "stop"
    assert 0 < found.ttft_s <= found.total_s


def test_the_role_alone_is_no_first_token() -> None:
    reader = StreamReader()

    def lines() -> Iterator[str]:
        yield from events(delta({"role": "assistant", "content": ""}))
        assert reader._first is None
        yield from events(delta({"content": "a"}))
        assert reader._first is not None
        yield from events(usage(), "[DONE]")

    assert reader.read(lines()).text == "a"


def test_tool_calls_and_reasoning_are_part_of_the_output() -> None:
    found = StreamReader().read(
        events(
            delta({"reasoning": "think"}),
            delta({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": '{"a"'}}]}),
            delta({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}),
            delta({"tool_calls": [{"index": 1, "function": {"name": "g", "arguments": "{}"}}, "odd"]}),
            usage(),
            "[DONE]",
        )
    )
    assert json.loads(found.text) == {
        "content": "",
        "reasoning": "think",
        "tool_calls": [{"name": "f", "arguments": '{"a":1}'}, {"name": "g", "arguments": "{}"}],
    }


def test_an_answer_of_nothing_but_its_end() -> None:
    found = StreamReader().read(events(delta({}, finish_reason="stop"), usage(), "[DONE]"))
    assert (found.text, found.finish_reason) == ("", "stop")


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (events(delta({"content": "a"})), "ended before its last chunk"),
        (events("{"), "not JSON"),
        (events("[1]"), "no JSON object"),
        (events({"choices": ["odd"]}), "a choice of the stream"),
        (events({"error": {"message": "dead"}}), "the server broke off"),
        (events(delta({"role": "assistant"}), usage(), "[DONE]"), "held no content"),
        (events(delta({"content": "a"}), "[DONE]"), "held no usage"),
    ],
)
def test_what_is_no_answer_says_why(lines: Iterator[str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        StreamReader().read(lines)
