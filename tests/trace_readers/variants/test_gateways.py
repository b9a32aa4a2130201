"""Exports of Langfuse and LiteLLM: forms that the labelled files do not show."""

from __future__ import annotations

import json
from pathlib import Path

from keepwarm.trace.records import Usage
from tests.trace_readers.reading import SYSTEM, TOOL, USER, one, read


def test_langfuse_trace_with_observations(tmp_path: Path) -> None:
    generation = {
        "id": "g",
        "traceId": "t",
        "type": "GENERATION",
        "input": json.dumps([SYSTEM, USER]),
        "output": "fine",
        "modelParameters": {"tools": [{"type": "function", "function": TOOL}], "temperature": 1},
        "promptName": "greet",
        "usage": {"input": 5, "output": 2},
    }
    trace = {"id": "t", "sessionId": "s", "observations": [{"type": "SPAN", "traceId": "t"}, generation]}
    request = one(tmp_path, trace, "langfuse")
    assert request.messages == [SYSTEM, USER]
    assert request.tools == [{"type": "function", "function": TOOL}]
    assert (request.session, request.call_site, request.params) == ("s", "greet", {"temperature": 1})
    assert request.usage == Usage(prompt_tokens=5, output_tokens=2)
    alone = one(tmp_path, {**generation, "parentObservationId": "p"}, "langfuse")
    assert alone.session == "t"
    text = one(tmp_path, {**generation, "input": "once upon"}, "langfuse")
    assert (text.prompt_text, text.messages, text.session) == ("once upon", [], None)


def test_litellm_spend_log_and_callback(tmp_path: Path) -> None:
    spend = {
        "request_id": "r",
        "call_type": "acompletion",
        "model": "m",
        "startTime": "2026-05-20T10:00:00.000000",
        "messages": "{}",
        "proxy_server_request": json.dumps({"messages": [USER], "tools": [TOOL], "model": "alias"}),
        "session_id": "s",
        "metadata": "{}",
    }
    logged = {"model": "m", "messages": [USER], "optional_params": {"tools": [TOOL]}, "litellm_call_id": "c"}
    requests, skipped = read(
        tmp_path, spend, logged, {"call_type": "aembedding", "model": "e", "messages": []}, expect="litellm"
    )
    assert skipped == ()
    assert [request.id for request in requests] == ["r", "c"]
    assert requests[0].session == "s"
    assert all(request.messages == [USER] for request in requests)
    assert all(request.tools[0]["function"]["name"] == "look" for request in requests)
