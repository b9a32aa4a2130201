"""The clients of the endpoint, over real connections to a real one."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest

from keepwarm._errors import InputError
from keepwarm.hints import HintClient
from keepwarm.hints import client as sending
from keepwarm.hints.answers import hint_of_answer
from keepwarm.hints.openai import wrap
from keepwarm.reuse.calls import ToolCall
from keepwarm.vllm.hints.hint import Hint, Kind
from keepwarm.vllm.hints.listener import HintListener
from tests.hints.endpoint import TOKEN
from tests.replay.recorder.stub import Stub, chat_answer, chat_chunk

MESSAGES: Any = [{"role": "user", "content": "Fix it."}]


def url_of(listener: HintListener) -> str:
    return f"http://127.0.0.1:{listener.port}"


def told(listener: HintListener) -> list[tuple[str, Kind, ToolCall | None]]:
    """What the listener has got so far."""
    pending: list[Hint] = list(listener._pending)
    return [(hint.session, hint.kind, hint.call) for hint in pending]


def test_everything_that_can_be_told(listener: HintListener) -> None:
    with HintClient(url_of(listener), TOKEN) as client:
        client.tool("run/1 ü", "bash", "ls")
        client.idle("b")
        client.awaits_human("c")
        client.finished("d")
        client.tool("e", "write", "x" * 100_000)  # longer than the endpoint takes: cut here
    assert (client.sent, client.failed, client.dropped) == (5, 0, 0)
    assert told(listener)[:4] == [
        ("run/1 ü", Kind.TOOL, ToolCall("bash", "ls")),
        ("b", Kind.IDLE, None),
        ("c", Kind.HUMAN, None),
        ("d", Kind.FINISHED, None),
    ]


def test_a_tool_runs_since_it_was_told_not_since_it_was_sent(listener: HintListener) -> None:
    held = threading.Event()

    def blocked() -> None:
        held.wait()

    with HintClient(url_of(listener), TOKEN) as client:
        client.later("a", blocked)
        client.tool("a", "bash", "ls")
        held.wait(0.3)
        held.set()
    (hint,) = listener._pending
    assert hint.elapsed_s > 0.2


def test_each_engine_is_told(listener: HintListener) -> None:
    with HintClient([url_of(listener), url_of(listener)], TOKEN) as client:
        client.finished("a")
    assert client.sent == 2


@pytest.mark.parametrize("fault", ["nobody there", "wrong token", "transport", "answer"])
def test_what_cannot_be_sent_is_counted_and_logged_once(
    listener: HintListener, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    def broken(request: httpx2.Request) -> httpx2.Response:
        raise RuntimeError("no such thing")

    if fault == "nobody there":
        listener.close()
    transport = {
        "transport": httpx2.MockTransport(broken),
        "answer": httpx2.MockTransport(lambda _: httpx2.Response(500, text="no\n" * 1_000)),
    }.get(fault)
    token = TOKEN[::-1] if fault == "wrong token" else TOKEN
    with HintClient(url_of(listener), token, transport=transport) as client:
        for _ in range(3):
            client.finished("a")
    client.finished("too late")
    assert (client.sent, client.failed, client.dropped) == (0, 3, 1)
    ours = [record for record in caplog.records if record.name == "keepwarm.hints"]
    assert [record.levelno for record in ours] == [logging.WARNING]
    assert token not in caplog.text


def test_a_full_queue_drops_the_oldest(listener: HintListener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "MOST_PENDING", 3)
    under_way, held = threading.Event(), threading.Event()

    def blocked() -> None:
        under_way.set()
        held.wait()

    with HintClient(url_of(listener), TOKEN) as client:
        client.later("a", blocked)
        under_way.wait()
        for number in range(5):
            client.finished(str(number))
        held.set()
    assert client.dropped >= 2  # the end takes a place, too
    assert client.sent + client.dropped == 5
    assert told(listener)[-1][0] == "4"


@pytest.mark.parametrize(
    ("url", "token", "message"),
    [
        ("http://10.0.0.1:8010", TOKEN, "of this machine"),
        ("https://127.0.0.1:8010", TOKEN, "of this machine"),
        ("127.0.0.1:8010", TOKEN, "of this machine"),
        ("http://[::", TOKEN, "is no http URL"),
        ("http://user:hunter2@127.0.0.1", TOKEN, "scheme, host and port alone"),
        ("http://127.0.0.1:8010", "", "token"),
        ("http://127.0.0.1:8010", "line\nend", "token"),
    ],
)
def test_a_wrong_address_or_token_is_said_at_once(url: str, token: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        HintClient(url, token)
    assert "hunter2" not in str(refused.value)


TOOL_CALLS = [{"id": "1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}]
SAYING = chat_answer("Done.")
TOOLS: Any = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
BASH = ToolCall("bash", '{"command": "ls"}')


def ending(finish: str, **message: Any) -> dict[str, Any]:
    """An answer that ends so."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return chat_answer(choices=[choice])


def streamed(*deltas: dict[str, Any], finish: str) -> list[dict[str, Any]]:
    return [*(chat_chunk(delta) for delta in deltas), chat_chunk({}, finish)]


CALLING_CHUNKS = streamed(
    {"role": "assistant", "content": ""},
    {"tool_calls": [{"index": 0, "id": "1", "function": {"name": "bash", "arguments": ""}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": '{"comm'}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": 'and": "ls"}'}}]},
    finish="tool_calls",
)


@pytest.fixture(scope="module")
def upstream() -> Iterator[Stub]:
    with Stub() as stub:
        yield stub


def test_an_answer_says_what_follows(upstream: Stub, listener: HintListener) -> None:
    calling = ending("tool_calls", content=None, tool_calls=TOOL_CALLS)
    answers = iter((calling, SAYING, ending("length", content="Cut o"), SAYING))
    upstream.asked.clear()
    upstream.script = lambda call: call.json(next(answers))
    stock = openai.OpenAI(base_url=f"{upstream.url}/v1", api_key="k", max_retries=0)
    with stock, wrap(stock, "run-1", url_of(listener), TOKEN) as client:
        first = client.chat.completions.create(model="m", messages=MESSAGES)
        client.chat.completions.create(model="m", messages=MESSAGES, tools=TOOLS, extra_body={"top_k": 1})
        client.chat.completions.create(
            model="m", messages=MESSAGES, tools=TOOLS, extra_body={"session_id": "own"}
        )
        client.chat.completions.create(model="m", messages=MESSAGES)  # it may well run what was said
        assert first.choices[0].message.tool_calls
    assert told(listener) == [
        ("run-1", Kind.TOOL, BASH),
        ("run-1", Kind.HUMAN, None),
        ("run-1", Kind.FINISHED, None),
    ]
    bodies = [json.loads(asked.body) for asked in upstream.asked]
    assert [body["session_id"] for body in bodies] == ["run-1", "run-1", "own", "run-1"]
    assert bodies[1]["top_k"] == 1


def test_a_header_names_the_session_to_routers(upstream: Stub, listener: HintListener) -> None:
    upstream.asked.clear()
    upstream.script = lambda call: call.json(SAYING)
    for session_id, options in (
        ("run-1", {}),
        ("run-1", {"extra_body": {"session_id": "own"}, "extra_headers": {"X-Other": "kept"}}),
        ("run-1", {"extra_headers": {"x-session-id": "given"}}),
        ("run τ", {}),  # no header can carry it
        ("run-1 ", {}),
    ):
        stock = openai.OpenAI(base_url=f"{upstream.url}/v1", api_key="k", max_retries=0)
        with wrap(stock, session_id, url_of(listener), TOKEN) as client:
            client.chat.completions.create(model="m", messages=MESSAGES, **options)
    headers = [{name.lower(): value for name, value in asked.headers} for asked in upstream.asked]
    assert [named.get("x-session-id") for named in headers] == ["run-1", "own", "given", None, None]
    assert headers[1]["x-other"] == "kept"


@pytest.mark.parametrize("helper", [False, True])
def test_a_stream_says_it_as_it_ends(upstream: Stub, listener: HintListener, helper: bool) -> None:
    upstream.script = lambda call: call.stream(*CALLING_CHUNKS, chat_chunk(None))
    stock = openai.OpenAI(base_url=f"{upstream.url}/v1", api_key="k", max_retries=0)
    with stock, wrap(stock, "run-1", url_of(listener), TOKEN) as client:
        if helper:
            with client.chat.completions.stream(model="m", messages=MESSAGES) as stream:
                assert [event for event in stream if event.type == "chunk"]
        else:
            with client.chat.completions.create(model="m", messages=MESSAGES, stream=True) as chunks:
                assert len(list(chunks)) == len(CALLING_CHUNKS) + 1
                assert chunks.response.status_code == 200
    assert told(listener) == [("run-1", Kind.TOOL, BASH), ("run-1", Kind.FINISHED, None)]


def test_the_same_with_an_event_loop(upstream: Stub, listener: HintListener) -> None:
    async def talk() -> None:
        stock = openai.AsyncOpenAI(base_url=f"{upstream.url}/v1", api_key="k", max_retries=0)
        async with wrap(stock, "run-1", url_of(listener), TOKEN) as client:
            upstream.script = lambda call: call.json(SAYING)
            await client.chat.completions.create(model="m", messages=MESSAGES, tools=TOOLS)
            upstream.script = lambda call: call.stream(*CALLING_CHUNKS)
            stream = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
            async with stream as chunks:
                assert len([chunk async for chunk in chunks]) == len(CALLING_CHUNKS)

    asyncio.run(talk())
    assert told(listener) == [
        ("run-1", Kind.HUMAN, None),
        ("run-1", Kind.TOOL, BASH),
        ("run-1", Kind.FINISHED, None),
    ]


@pytest.mark.parametrize("answer", [{}, {"choices": []}, {"choices": [None]}, {"choices": [{"delta": {}}]}])
def test_a_strange_answer_reaches_the_application(
    upstream: Stub, listener: HintListener, answer: dict[str, Any]
) -> None:
    upstream.script = lambda call: call.json(answer)
    stock = openai.OpenAI(base_url=f"{upstream.url}/v1", api_key="k", max_retries=0)
    with stock, wrap(stock, "run-1", url_of(listener), TOKEN) as client:
        raw = client.chat.completions.with_raw_response.create(model="m", messages=MESSAGES)
        assert raw.http_response.json() == answer
        client.chat.completions.create(model="m", messages=MESSAGES)
    assert told(listener) == [("run-1", Kind.FINISHED, None)]


def test_errors_of_the_server_are_the_clients_own(upstream: Stub, listener: HintListener) -> None:
    upstream.script = lambda call: call.json({"error": {"message": "no"}}, status=429)
    stock = openai.OpenAI(base_url=f"{upstream.url}/v1", api_key="k", max_retries=0)
    with stock, wrap(stock, "run-1", url_of(listener), TOKEN) as client, pytest.raises(openai.RateLimitError):
        client.chat.completions.create(model="m", messages=MESSAGES)


def test_the_responses_api() -> None:
    call = {"type": "function_call", "call_id": "1", "name": "bash", "arguments": "ls"}
    said = {"type": "message", "role": "assistant", "content": []}
    completed = {"status": "completed", "output": [said]}
    assert hint_of_answer({"status": "completed", "output": [said, call]}, has_tools=True) == {
        "tool": "bash",
        "arguments": "ls",
    }
    assert hint_of_answer(completed, has_tools=True) == {"awaits": "human"}
    assert hint_of_answer(completed, has_tools=False) is None
    assert hint_of_answer({**completed, "status": "incomplete"}, has_tools=True) is None
