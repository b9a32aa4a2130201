"""Upstreams that break in every way, and clients that hang up."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest

from keepwarm.canary.servers.process import reserved_port
from tests.replay.recorder.conftest import hello
from tests.replay.recorder.running import Recorder
from tests.replay.recorder.stub import PATIENCE_S, Call, Stub, chat_answer, chat_chunk, chat_chunks, event

CHAT = "/v1/chat/completions"


def post(recorder: Recorder, body: Any = None, **options: Any) -> httpx2.Response:
    content = {"content": body} if isinstance(body, bytes) else {"json": hello() if body is None else body}
    return httpx2.post(f"{recorder.url}{CHAT}", **content, trust_env=False, timeout=PATIENCE_S, **options)


def test_nobody_listens(start: Callable[..., Recorder]) -> None:
    held = reserved_port()
    port = held.getsockname()[1]
    recorder = start(f"http://127.0.0.1:{port}")
    with (
        held,
        openai.OpenAI(base_url=f"{recorder.url}/v1", api_key="none", max_retries=0) as client,
        pytest.raises(openai.APIStatusError) as refused,
    ):
        client.chat.completions.create(**hello())
    assert refused.value.status_code == 502
    assert refused.value.code == "upstream_unreachable"
    assert f"http://127.0.0.1:{port}" in refused.value.message
    line = recorder.next_line()
    assert (line["status"], line["error"]["kind"]) == (502, "upstream-unreachable")
    assert line["body"] == hello()
    assert "1 request recorded, 1 of them failed" in recorder.stop()


def test_it_hangs_up_before_it_answers(upstream: Stub, recorder: Recorder) -> None:
    upstream.script = Call.hang_up
    assert post(recorder).status_code == 502
    assert recorder.next_line()["error"]["kind"] == "upstream-unreachable"


def test_it_answers_something_that_is_not_http(upstream: Stub, recorder: Recorder) -> None:
    def babble(call: Call) -> None:
        call.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        call.close_connection = True

    upstream.script = babble
    assert post(recorder).status_code == 502
    assert recorder.next_line()["error"]["kind"] == "upstream-unreachable"


@pytest.mark.parametrize("body", [b"", b'{"choices": [', b"[1, 2]", b"\xff\xfe\x00", b"[" * 100_000])
def test_its_json_is_none(upstream: Stub, recorder: Recorder, body: bytes) -> None:
    upstream.script = lambda call: call.answer(body)
    answer = post(recorder)
    assert (answer.status_code, answer.content) == (200, body)
    line = recorder.next_line()
    assert line["error"]["kind"] == "upstream-error"
    assert (b'"response":' in recorder.raw_lines()[-1]) == bool(body)


def test_it_promises_more_than_it_sends(upstream: Stub, recorder: Recorder) -> None:
    def cut(call: Call) -> None:
        call.start(200, {"Content-Type": "application/json", "Content-Length": "1000"})
        call.wfile.write(b'{"id": "x"')
        call.hang_up()

    upstream.script = cut
    with pytest.raises(httpx2.RemoteProtocolError):
        post(recorder)
    line = recorder.next_line()
    assert (line["error"]["kind"], line["response"]) == ("upstream-closed", '{"id": "x"')


def test_it_sends_more_than_it_promises(upstream: Stub, recorder: Recorder) -> None:
    def overflow(call: Call) -> None:
        call.start(200, {"Content-Type": "application/json", "Content-Length": "2"})
        call.wfile.write(b"{}{}{}")
        call.close_connection = True

    upstream.script = overflow
    assert post(recorder).content == b"{}"
    assert recorder.next_line()["response"] == {}
    upstream.script = lambda call: call.json(chat_answer())
    assert post(recorder).json() == chat_answer()
    assert recorder.next_line()["response"] == chat_answer()


def test_it_hangs_up_in_a_stream(upstream: Stub, recorder: Recorder) -> None:
    def cut(call: Call) -> None:
        call.start_stream()
        for chunk in chat_chunks("Hel", "lo")[:3]:
            call.event(chunk)
        call.wfile.write(b"50\r\ndata: {")
        call.hang_up()

    upstream.script = cut
    with pytest.raises(httpx2.RemoteProtocolError):
        post(recorder, hello(stream=True))
    line = recorder.next_line()
    assert line["error"]["kind"] == "upstream-closed"
    assert line["response"]["choices"][0]["message"]["content"] == "Hello"


def test_it_ends_a_stream_too_early(upstream: Stub, recorder: Recorder) -> None:
    def cut(call: Call) -> None:
        call.start_stream()
        call.event(chat_chunk({"content": "Hel"}))
        call.end()

    upstream.script = cut
    post(recorder, hello(stream=True))
    error = {"kind": "upstream-error", "message": "the stream ended without its last event"}
    assert recorder.next_line()["error"] == error


def test_an_event_is_malformed(upstream: Stub, recorder: Recorder) -> None:
    def stream(call: Call) -> None:
        call.start_stream()
        call.piece(b": a comment\n\nretry: 10\n\n")
        call.event(chat_chunk({"content": "Hel"}))
        call.piece(b'data: {"choices": [{"del\n\n')
        call.event(chat_chunk({"content": "lo."}, "stop"))
        call.piece(b"data: [DONE]\n\n")
        call.end()

    upstream.script = stream
    post(recorder, hello(stream=True))
    line = recorder.next_line()
    assert line["response"]["choices"][0]["message"]["content"] == "Hello."
    assert line["error"]["kind"] == "upstream-error"
    assert '1 of the events are no JSON objects, the first: \'{"choices"' in line["error"]["message"]


def test_an_error_in_a_stream(upstream: Stub, recorder: Recorder) -> None:
    error = {"error": {"message": "out of memory", "code": 500}}
    upstream.script = lambda call: call.stream(chat_chunk({"content": "Hel"}), error)
    post(recorder, hello(stream=True))
    line = recorder.next_line()
    assert line["error"] == {"kind": "upstream-error", "message": "out of memory"}
    assert line["response"]["error"] == error["error"]


@pytest.mark.parametrize(
    "event_",
    [
        {
            "choices": [
                None,
                1,
                {"index": "x", "delta": [1]},
                {"delta": {"content": ["a"], "tool_calls": [3]}},
            ]
        },
        {"choices": "none", "usage": "none", "object": 3},
        {"choices": [{"index": -1, "delta": {"tool_calls": [{"index": 0}, 4, {"index": None}]}}]},
        {"choices": [{"delta": {"a": {"b": 1}}}, {"delta": {"a": "b"}}, {"delta": {"a": [1]}}]},
    ],
)
def test_events_of_odd_shapes(upstream: Stub, recorder: Recorder, event_: Any) -> None:
    upstream.script = lambda call: call.stream(event_, event_)
    assert post(recorder, hello(stream=True)).content.endswith(b"data: [DONE]\n\n")
    assert recorder.next_line()["status"] == 200


def test_it_compresses_though_asked_not_to(upstream: Stub, recorder: Recorder) -> None:
    packed = gzip.compress(json.dumps(chat_answer()).encode())
    upstream.script = lambda call: call.answer(packed, content_encoding="gzip")
    assert post(recorder, headers={"Accept-Encoding": "gzip"}).json() == chat_answer()
    assert upstream.asked[0].header("accept-encoding") == "identity"
    assert recorder.next_line()["unrecorded"] == {"response": "the response has the content encoding 'gzip'"}


def test_chunks_pass_one_by_one(upstream: Stub, recorder: Recorder) -> None:
    """Each chunk is held back until the client has the one before it: a buffer anywhere would hang."""
    arrived = [threading.Event() for _ in range(5)]

    def stream(call: Call) -> None:
        call.start_stream()
        for number, got in enumerate(arrived):
            call.event(chat_chunk({"content": f"{number}"}))
            assert got.wait(PATIENCE_S)
        call.piece(b"data: [DONE]\n\n")
        call.end()

    upstream.script = stream
    request = {"json": hello(stream=True), "timeout": PATIENCE_S}
    seen = []
    with (
        httpx2.Client(trust_env=False) as client,
        client.stream("POST", f"{recorder.url}{CHAT}", **request) as answer,
    ):
        for chunk in answer.iter_raw():
            if len(seen) < len(arrived):
                arrived[len(seen)].set()
            seen.append(chunk)
    assert seen[:5] == [event(chat_chunk({"content": f"{number}"})) for number in range(5)]
    assert recorder.next_line()["response"]["choices"][0]["message"]["content"] == "01234"


@pytest.mark.parametrize("chunks", [0, 2])
def test_the_client_hangs_up(upstream: Stub, recorder: Recorder, chunks: int) -> None:
    """The upstream learns of it, so that it stops generating."""
    under_way, hung_up = threading.Event(), threading.Event()

    def hang(call: Call) -> None:
        if chunks:
            call.start_stream()
        for number in range(chunks):
            call.event(chat_chunk({"content": f"{number}"}))
        under_way.set()
        if call.wait_until_hung_up():
            hung_up.set()

    upstream.script = hang
    body = json.dumps(hello(stream=True)).encode()
    with socket.create_connection(("127.0.0.1", recorder.port)) as client:
        head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        assert under_way.wait(PATIENCE_S)
        received = b""
        while received.count(b"data: ") < chunks:
            received += client.recv(65536)
    assert hung_up.wait(PATIENCE_S)
    line = recorder.next_line()
    assert line["error"]["kind"] == "client-disconnected"
    assert line["status"] == (200 if chunks else None)
    assert line["body"] == hello(stream=True)
    if chunks:
        assert line["response"]["choices"][0]["message"]["content"] == "01"


def test_the_client_hangs_up_while_it_asks(upstream: Stub, recorder: Recorder) -> None:
    with socket.create_connection(("127.0.0.1", recorder.port)) as client:
        head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
        client.sendall(head.encode() + b'{"model":')
    line = recorder.next_line()
    assert line["error"]["kind"] == "client-disconnected"
    assert (line["body"], line["status"]) == ('{"model":', None)
    assert upstream.asked == []


def test_a_client_that_leaves_after_done_has_all(
    client: openai.OpenAI, upstream: Stub, recorder: Recorder
) -> None:
    """Clients stop reading at [DONE]; the end of the response may come later, or never."""
    left = threading.Event()

    def stream(call: Call) -> None:
        call.start_stream()
        call.event(chat_chunk({"content": "all"}, "stop"))
        call.piece(b"data: [DONE]\n\n")
        left.wait(PATIENCE_S)

    upstream.script = stream
    with client.chat.completions.create(**hello(), stream=True) as answer:
        assert [chunk.choices[0].delta.content for chunk in answer][:1] == ["all"]
    left.set()
    line = recorder.next_line()
    assert "error" not in line
    assert line["response"]["choices"][0]["message"]["content"] == "all"


def test_other_paths_pass_unrecorded(upstream: Stub, recorder: Recorder) -> None:
    upstream.script = lambda call: call.json({"asked": call.asked.target, "by": call.asked.method})
    for method, target in (
        *(("GET", "/health"), ("GET", "/v1/models?a=%2Fb&c"), ("DELETE", "/v1/files/a%20b")),
        *(("POST", "/v1/embeddings"), ("GET", CHAT)),
    ):
        answer = httpx2.request(method, f"{recorder.url}{target}", trust_env=False)
        assert answer.json() == {"asked": target, "by": method}
    assert upstream.asked[0].header("host") == upstream.url.removeprefix("http://")
    post(recorder)
    assert recorder.next_line()["path"] == CHAT


def test_redirects_lead_through_the_recorder_again(upstream: Stub, recorder: Recorder) -> None:
    def redirect(call: Call) -> None:
        if call.asked.target.endswith("/"):
            call.answer(b"", 307, location=f"{upstream.url}{CHAT}")
        else:
            call.json(chat_answer())

    upstream.script = redirect
    answer = httpx2.post(f"{recorder.url}{CHAT}/", json=hello(), follow_redirects=True, trust_env=False)
    assert answer.json() == chat_answer()
    assert [line["status"] for line in recorder.next_lines(2)] == [307, 200]


def test_what_is_too_long_passes_unrecorded(upstream: Stub, recorder: Recorder) -> None:
    long = json.dumps(hello(user="x" * (33 * 2**20))).encode()
    answer = b'{"x": "' + b"y" * (65 * 2**20) + b'"}'
    upstream.script = lambda call: call.answer(answer)
    for request in (long, (long[i : i + 2**20] for i in range(0, len(long), 2**20))):
        got = httpx2.post(f"{recorder.url}{CHAT}", content=request, trust_env=False, timeout=PATIENCE_S)
        assert got.content == answer
        assert upstream.asked[-1].body == long
        line = recorder.next_line()
        assert (line["body"], "response" in line) == (None, False)
        assert line["unrecorded"] == {
            "body": "the request body is longer than 32 MiB",
            "response": "the response is longer than 64 MiB",
        }


@pytest.mark.parametrize("body", [b"{", b"\x80", b'{"a": NaN}', b'{"a": "\\ud800"}', b"null", b"[" * 100_000])
def test_requests_that_are_no_json_are_kept_as_text(upstream: Stub, recorder: Recorder, body: bytes) -> None:
    assert post(recorder, body).status_code == 200
    assert upstream.asked[0].body == body
    text = body.decode("utf-8", "backslashreplace")
    assert recorder.next_line()["body"] == (None if body == b"null" else text)
