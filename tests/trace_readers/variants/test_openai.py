"""OpenAI's APIs: chat, completions, responses and batches: forms that the labelled files do not show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from keepwarm._errors import TraceError
from keepwarm.trace.open import open_trace
from keepwarm.trace.records import Request, Usage
from tests.trace_readers.reading import SYSTEM, TOOL, USER, one, read


def test_chat_as_a_proxy_writes_it(tmp_path: Path) -> None:
    record = {
        "request": {
            "model": "m",
            "messages": [USER],
            "metadata": {"prompt_name": "greet"},
            "cache_salt": "x",
        },
        "response": {
            "prompt_token_ids": [1, 2],
            "choices": [{"message": {"role": "assistant", "content": "hi"}, "token_ids": [3]}],
        },
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}},
        "start": 100.0,
        "end": 102.0,
        "time_to_first_token": 0.25,
        "metadata": {"conversation_id": 12},
        "engine": {"block_size": 32},
        "chat_template": "t.jinja",
    }
    request = one(tmp_path, record, "openai-chat")
    assert request == Request(
        line=1,
        id="line-1",
        time_s=100.0,
        session="12",
        call_site="greet",
        model="m",
        messages=[USER],
        params={"cache_salt": "x"},
        prompt_token_ids=[1, 2],
        answer={"role": "assistant", "content": "hi"},
        answer_token_ids=[3],
        usage=Usage(prompt_tokens=9, output_tokens=2, cached_tokens=8),
        ttft_s=0.25,
        end_s=102.0,
        chat_template="t.jinja",
        block_size=32,
    )


def test_bare_chat_body(tmp_path: Path) -> None:
    body = {
        "model": "m",
        "messages": [SYSTEM, USER],
        "temperature": 0,
        "functions": [TOOL],
        "id": "x",
        "ts": 3,
    }
    request = one(tmp_path, body, "openai-chat")
    assert (request.id, request.time_s, request.params) == ("x", 3.0, {"temperature": 0})
    assert request.tools == [{"type": "function", "function": TOOL}]


@pytest.mark.parametrize(
    ("prompt", "text", "ids"), [("a b", "a b", None), ([5, 6], None, [5, 6]), (["a"], "a", None)]
)
def test_completions_body(tmp_path: Path, prompt: Any, text: str | None, ids: list[int] | None) -> None:
    request = one(tmp_path, {"body": {"model": "m", "prompt": prompt}}, "openai-chat")
    assert (request.prompt_text, request.prompt_token_ids, request.messages) == (text, ids, [])


def test_chat_content_stays_a_list_and_arguments_become_text(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": {"b": 1, "a": [2]}}}
    messages = [
        {
            "role": "developer",
            "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}],
        },
        {"role": "user", "content": [picture, {"type": "text", "text": "y"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "z"},
    ]
    request = one(tmp_path, {"body": {"model": "m", "messages": messages}}, "openai-chat")
    assert request.messages[:2] == messages[:2]
    assert request.messages[2]["tool_calls"][0]["function"]["arguments"] == '{"b": 1, "a": [2]}'


def test_responses_follow_the_previous_one(tmp_path: Path) -> None:
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
    ]
    result = {"type": "function_call_output", "call_id": "c", "output": "seen"}
    body = {"model": "m", "instructions": "be brief", "input": "hello"}
    follow = {"model": "m", "input": [result], "previous_response_id": "r1"}
    requests, skipped = read(
        tmp_path,
        {"body": body, "response": {"id": "r1", "output": output}},
        {"body": follow, "response": {"id": "r2"}},
        {"body": {**follow, "previous_response_id": "lost"}},
        expect="openai-responses",
    )
    assert requests[0].messages == [SYSTEM, USER]
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    said = {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [call]}
    assert requests[1].messages == [USER, said, {"role": "tool", "tool_call_id": "c", "content": "seen"}]
    assert skipped[0].line == 3
    assert "'lost'" in skipped[0].reason


def test_batch_of_other_apis_and_its_output_file(tmp_path: Path) -> None:
    requests, skipped = read(
        tmp_path,
        {"custom_id": "a", "url": "/v1/responses", "body": {"model": "m", "input": "hello"}},
        {"custom_id": "b", "params": {"model": "m", "system": "be brief", "messages": [USER]}},
        {"custom_id": "c", "url": "/v1/embeddings", "body": {"model": "m", "input": ["x"], "dimensions": 3}},
        {"custom_id": "d", "id": "batch_req", "response": {"status_code": 200, "body": {}}},
        expect="openai-batch",
    )
    assert [request.messages for request in requests] == [[USER], [SYSTEM, USER]]
    assert [skip.line for skip in skipped] == [3, 4]
    output_only = tmp_path / "out"
    output_only.write_text(json.dumps({"custom_id": "d", "response": {"body": {}}}), encoding="utf-8")
    with pytest.raises(TraceError, match="batch output file"):
        list(open_trace(output_only).requests())
