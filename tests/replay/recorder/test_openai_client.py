"""Driven by the client that applications use: everything arrives, everything is written down."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx2
import openai
import pytest

from tests.replay.recorder.conftest import KEY, hello
from tests.replay.recorder.running import Recorder
from tests.replay.recorder.stub import USAGE, Call, Stub, chat_answer, chat_chunk, chat_chunks

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Today's weather.",
            "parameters": {"type": "object", "properties": {"town": {"type": "string"}}},
        },
    }
]


def test_a_chat(client: openai.OpenAI, upstream: Stub, recorder: Recorder) -> None:
    answer = client.chat.completions.create(
        **hello(temperature=0.0, seed=7), extra_headers={"X-Session-ID": "s-1"}
    )
    line = recorder.next_line()
    assert answer.choices[0].message.content == "Hello."
    assert upstream.asked[0].target == "/v1/chat/completions"
    assert upstream.asked[0].header("authorization") == f"Bearer {KEY}"
    assert line["body"] == json.loads(upstream.asked[0].body) == hello(temperature=0.0, seed=7)
    assert line["response"] == chat_answer()
    assert line["usage"] == USAGE
    assert (line["session_id"], line["status"], line["path"]) == ("s-1", 200, "/v1/chat/completions")
    assert line["end"] >= line["timestamp"] > 1.7e9
    assert {"error", "stream", "unrecorded", "time_to_first_token"} & line.keys() == set()


def test_the_bytes_of_the_body_are_kept(upstream: Stub, recorder: Recorder) -> None:
    """Order of keys, spacing, escapes and numbers are part of what was sent; only line ends cannot be."""
    body = b'{"seed": 1.50,\r\n "z": 1, "a": "\\u00e9\\/", "messages": [{"content": "x", "role": "user"}]}'
    httpx2.post(f"{recorder.url}/v1/chat/completions", content=body, trust_env=False)
    recorder.next_line()
    assert upstream.asked[0].body == body
    assert body.replace(b"\r\n", b"  ") in recorder.raw_lines()[-1]


def test_a_streamed_chat(client: openai.OpenAI, upstream: Stub, recorder: Recorder) -> None:
    upstream.script = lambda call: call.stream(*chat_chunks("Hel", "lo", "."))
    stream = client.chat.completions.create(
        **hello(), stream=True, stream_options={"include_usage": True}, extra_body={"session_id": "s-2"}
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    line = recorder.next_line()
    assert text == "Hello."
    assert line["response"] == chat_answer()
    assert (line["usage"], line["stream"], line["session_id"]) == (USAGE, True, "s-2")
    assert 0 <= line["time_to_first_token"] <= line["end"] - line["timestamp"]
    assert "error" not in line


def test_a_streamed_answer_with_tools(client: openai.OpenAI, upstream: Stub, recorder: Recorder) -> None:
    def call_piece(index: int, arguments: str, **first: object) -> dict[str, object]:
        named = {"id": f"call-{index}", "type": "function"} if first else {}
        return {**named, "index": index, "function": {**first, "arguments": arguments}}

    pieces = [
        {"role": "assistant", "content": None, "tool_calls": [call_piece(0, "", name="weather")]},
        {"tool_calls": [call_piece(0, '{"town": ')]},
        {"tool_calls": [call_piece(0, '"Oslo"}'), call_piece(1, "", name="weather")]},
        {"tool_calls": [call_piece(1, '{"town": "Bern"}')]},
    ]
    chunks = [*(chat_chunk(piece) for piece in pieces), chat_chunk({}, "tool_calls")]
    upstream.script = lambda call: call.stream(*chunks)
    list(client.chat.completions.create(**hello(tools=TOOLS), stream=True))
    line = recorder.next_line()
    choice = line["response"]["choices"][0]
    assert line["body"]["tools"] == TOOLS
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": f"call-{index}",
                "type": "function",
                "function": {"name": "weather", "arguments": f'{{"town": "{town}"}}'},
            }
            for index, town in enumerate(("Oslo", "Bern"))
        ],
    }


def test_a_streamed_completion(client: openai.OpenAI, upstream: Stub, recorder: Recorder) -> None:
    def chunk(text: str, finish: str | None = None) -> dict[str, object]:
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
        return {"id": "cmpl-1", "object": "text_completion", "model": "m", "choices": [choice]}

    upstream.script = lambda call: call.stream(chunk("a"), chunk("b"), chunk("", "length"))
    list(client.completions.create(model="m", prompt="once", stream=True))
    line = recorder.next_line()
    assert line["path"] == "/v1/completions"
    assert line["response"]["choices"] == [
        {"index": 0, "text": "ab", "logprobs": None, "finish_reason": "length"}
    ]
    assert "time_to_first_token" in line


RESPONSE = {
    "id": "resp-1",
    "object": "response",
    "created_at": 1_700_000_000,
    "model": "m",
    "status": "completed",
    "output": [
        {
            "type": "message",
            "id": "msg-1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hello.", "annotations": []}],
        }
    ],
    "usage": {
        "input_tokens": 40,
        "output_tokens": 3,
        "total_tokens": 43,
        "input_tokens_details": {"cached_tokens": 32},
    },
}


def respond(call: Call, *, ends: bool = True) -> None:
    """A stream of the Responses API, which may end in the middle."""
    item = {"type": "message", "id": "msg-1", "role": "assistant", "status": "in_progress", "content": []}
    begun = {**RESPONSE, "status": "in_progress", "output": [], "usage": None}
    call.start_stream()
    call.event({"type": "response.created", "response": begun}, "response.created")
    call.event({"type": "response.output_item.added", "output_index": 0, "item": item})
    for text in ("Hel", "lo."):
        delta = {"output_index": 0, "content_index": 0, "item_id": "msg-1", "delta": text}
        call.event({"type": "response.output_text.delta", **delta}, "response.output_text.delta")
    if ends:
        call.event({"type": "response.completed", "response": RESPONSE}, "response.completed")
    call.end()


def test_a_response(client: openai.OpenAI, upstream: Stub, recorder: Recorder) -> None:
    upstream.script = lambda call: call.json(RESPONSE)
    assert client.responses.create(model="m", input="Hello?").output_text == "Hello."
    line = recorder.next_line()
    assert (line["response"], line["usage"]) == (RESPONSE, RESPONSE["usage"])


def test_a_streamed_response(client: openai.OpenAI, upstream: Stub, recorder: Recorder) -> None:
    upstream.script = respond
    events = list(client.responses.create(model="m", input="Hello?", stream=True))
    line = recorder.next_line()
    assert events[-1].type == "response.completed"
    assert (line["response"], line["usage"]) == (RESPONSE, RESPONSE["usage"])
    assert "time_to_first_token" in line
    assert "error" not in line


def test_a_streamed_response_that_is_cut_off(
    client: openai.OpenAI, upstream: Stub, recorder: Recorder
) -> None:
    upstream.script = lambda call: respond(call, ends=False)
    list(client.responses.create(model="m", input="Hello?", stream=True))
    line = recorder.next_line()
    assert line["response"]["output"][0]["content"] == [{"type": "output_text", "text": "Hello."}]
    assert line["error"] == {"kind": "upstream-error", "message": "the stream ended without its last event"}


def test_refusals_arrive_as_they_are(client: openai.OpenAI, upstream: Stub, recorder: Recorder) -> None:
    error = {"error": {"message": "no such key", "type": "invalid_request_error", "code": "invalid_api_key"}}
    upstream.script = lambda call: call.json(error, 401)
    with pytest.raises(openai.AuthenticationError, match="no such key"):
        client.chat.completions.create(**hello())
    line = recorder.next_line()
    assert (line["status"], line["response"]) == (401, error)
    assert line["error"] == {"kind": "status", "message": "HTTP 401"}

    upstream.script = lambda call: call.json(error, 429, retry_after="7")
    with pytest.raises(openai.RateLimitError) as limited:
        client.chat.completions.create(**hello())
    assert limited.value.response.headers["retry-after"] == "7"
    assert recorder.next_line()["status"] == 429

    page = b"<html>\n<h1>Internal Server Error</h1></html>"
    upstream.script = lambda call: call.answer(page, 500, "text/html")
    with pytest.raises(openai.InternalServerError) as broken:
        client.chat.completions.create(**hello())
    assert broken.value.response.content == page
    line = recorder.next_line()
    assert (line["status"], line["response"], line["error"]["kind"]) == (500, page.decode(), "status")


def test_retries_of_the_client_are_requests(
    client: openai.OpenAI, upstream: Stub, recorder: Recorder
) -> None:
    def refuse_once(call: Call) -> None:
        if len(upstream.asked) == 1:
            call.json({}, 429, retry_after="0")
        else:
            call.json(chat_answer())

    upstream.script = refuse_once
    client.with_options(max_retries=1).chat.completions.create(**hello())
    assert [line["status"] for line in recorder.next_lines(2)] == [429, 200]


def test_lines_come_in_order_of_completion(client: openai.OpenAI, upstream: Stub, recorder: Recorder) -> None:
    """All are under way at once, and each is let go when the line of the one before it is there."""
    count = 24
    gates = [threading.Event() for _ in range(count)]
    all_in = threading.Barrier(count + 1, timeout=20)

    def wait_for_turn(call: Call) -> None:
        number = json.loads(call.asked.body)["seed"]
        all_in.wait()
        assert gates[number].wait(20)
        call.stream(*chat_chunks(f"{number}"))

    def ask(number: int) -> int:
        return len(list(client.chat.completions.create(**hello(seed=number), stream=True)))

    upstream.script = wait_for_turn
    with ThreadPoolExecutor(count) as pool:
        asked = [pool.submit(ask, number) for number in range(count)]
        all_in.wait()
        for number in reversed(range(count)):
            gates[number].set()
            line = recorder.next_line()
            assert line["body"]["seed"] == number
            assert line["response"]["choices"][0]["message"]["content"] == f"{number}"
            assert "error" not in line
        assert [request.result() for request in asked] == [4] * count
