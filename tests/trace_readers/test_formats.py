"""The labelled format files: counts, sessions, and the same six requests out of every one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import zstandard

from keepwarm.trace.open import open_trace
from keepwarm.trace.records import JsonObject, Request
from tests.trace_readers.samples import CASE_FORMATS, SAME_TEXT, sample, sessions_by_prefix


def read(path: Path) -> list[Request]:
    return list(open_trace(path).requests())


def by_prompt(requests: list[Request]) -> list[str]:
    """Messages of each request, in an order that does not depend on the file's."""
    return sorted(json.dumps(request.messages, sort_keys=True) for request in requests)


@pytest.fixture(scope="module")
def chat(shared: Path) -> list[Request]:
    return read(shared / "cases" / "formats" / "openai-chat.jsonl")


@pytest.mark.parametrize("name", CASE_FORMATS)
def test_expectation(shared: Path, tmp_path: Path, name: str) -> None:
    path = sample(shared, name, tmp_path)
    expect = json.loads((path.parent / f"{name}.expect.json").read_bytes())
    trace = open_trace(path)
    requests = list(trace.requests())
    assert trace.format == expect["format"]
    assert len(requests) == expect["requests"]
    assert trace.prompt_texts_known is expect["prompt_texts_known"]
    assert trace.prompt_complete is expect["prompt_complete"]
    assert trace.sessions_known is (expect["sessions"] is not None)
    assert trace.skipped == ()
    if expect["sessions"] is not None:
        assert len({request.session for request in requests}) == expect["sessions"]
    if "sessions_by_prefix" in expect:
        assert sessions_by_prefix(requests) == expect["sessions_by_prefix"]


@pytest.mark.parametrize("name", SAME_TEXT)
def test_same_requests_from_every_complete_format(
    shared: Path, tmp_path: Path, chat: list[Request], name: str
) -> None:
    requests = read(sample(shared, name, tmp_path))
    assert [request.messages for request in requests] == [request.messages for request in chat]
    assert [request.tools for request in requests] == [request.tools for request in chat]
    assert [request.model for request in requests] == [request.model for request in chat]
    if name != "openai-batch":
        assert [request.answer for request in requests] == [request.answer for request in chat]
        assert [request.usage for request in requests] == [request.usage for request in chat]
        times = [request.time_s for request in chat]
        assert [request.time_s for request in requests] == pytest.approx(times, abs=1e-5)


def test_same_messages_from_a_codex_rollout(shared: Path, tmp_path: Path, chat: list[Request]) -> None:
    requests = read(sample(shared, "codex-rollout", tmp_path))
    assert by_prompt(requests) == by_prompt(chat)
    assert sorted(request.usage.cached_tokens or 0 for request in requests) == sorted(
        request.usage.cached_tokens or 0 for request in chat
    )


def test_same_messages_but_the_system_text_from_claude_code(
    shared: Path, tmp_path: Path, chat: list[Request]
) -> None:
    requests = read(sample(shared, "claude-code", tmp_path))
    assert by_prompt(requests) == sorted(json.dumps(request.messages[1:], sort_keys=True) for request in chat)
    assert {request.usage for request in requests} == {request.usage for request in chat}
    assert {json.dumps(request.answer) for request in requests} == {
        json.dumps(request.answer) for request in chat
    }


def test_same_messages_but_the_call_ids_from_sharegpt(
    shared: Path, tmp_path: Path, chat: list[Request]
) -> None:
    def without_ids(messages: list[JsonObject]) -> str:
        plain = json.loads(json.dumps(messages))
        for message in plain:
            message.pop("tool_call_id", None)
            for call in message.get("tool_calls", ()):
                del call["id"]
        return json.dumps(plain, sort_keys=True)

    requests = read(sample(shared, "sharegpt", tmp_path))
    assert sorted(without_ids(request.messages) for request in requests) == sorted(
        without_ids(request.messages) for request in chat
    )
    assert requests[0].tools == chat[0].tools


def test_steps_of_a_trajectory_are_the_first_session(
    shared: Path, tmp_path: Path, chat: list[Request]
) -> None:
    requests = read(sample(shared, "swe-agent-traj", tmp_path))
    expected = [request for request in chat if request.session == chat[0].session]
    assert [request.messages for request in requests] == [request.messages for request in expected]
    assert [request.answer for request in requests] == [request.answer for request in expected]


def test_log_gives_text_ids_and_parameters(shared: Path, tmp_path: Path, chat: list[Request]) -> None:
    requests = read(sample(shared, "vllm-debug-log", tmp_path))
    for request, same in zip(requests, chat, strict=True):
        assert request.prompt_text is not None
        assert same.messages[0]["content"] in request.prompt_text
        assert request.prompt_token_ids
        assert request.params["temperature"] == 0.2
    assert [request.time_s for request in requests] == [0.0, 3.0, 11.0, 13.0, 29.0, 44.0]


@pytest.mark.parametrize("name", CASE_FORMATS)
@pytest.mark.parametrize("compression", ["gzip", "zstd", "two members"])
def test_compressed_equals_plain(shared: Path, tmp_path: Path, name: str, compression: str) -> None:
    path = sample(shared, name, tmp_path)
    data = path.read_bytes()
    packed = tmp_path / "trace.bin"  # the name says nothing
    if compression == "gzip":
        packed.write_bytes(gzip.compress(data))
    elif compression == "zstd":
        packed.write_bytes(zstandard.compress(data))
    else:
        packed.write_bytes(gzip.compress(data[:1000]) + gzip.compress(data[1000:]))
    assert read(packed) == read(path)


@pytest.mark.parametrize("name", ["openai-chat", "langfuse", "anthropic-messages", "otel-genai"])
@pytest.mark.parametrize("form", ["array", "pretty array", "data", "pretty data", "pretty values"])
def test_other_layouts_give_the_same_requests(shared: Path, tmp_path: Path, name: str, form: str) -> None:
    path = sample(shared, name, tmp_path)
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    indent = 2 if form.startswith("pretty") else None
    document = {"data": records} if form.endswith("data") else records
    text = (
        "\n".join(json.dumps(record, indent=2) for record in records)
        if form == "pretty values"
        else json.dumps(document, indent=indent)
    )
    other = tmp_path / "other.json"
    other.write_text(text, encoding="utf-8")
    assert read(other) == read(path)


def test_byte_order_mark_and_blank_lines_are_no_obstacle(shared: Path, tmp_path: Path) -> None:
    path = sample(shared, "openai-chat", tmp_path)
    odd = tmp_path / "odd.jsonl"
    odd.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert [request.messages for request in read(odd)] == [request.messages for request in read(path)]
    assert [request.line for request in read(odd)] == [1, 3, 5, 7, 9, 11]
