"""Spans of OpenTelemetry: forms that the labelled files do not show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.trace_readers.reading import SYSTEM, TOOL, USER, one, read


def span(attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    pairs = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    return {"traceId": "t", "spanId": "1", "name": "chat", "attributes": pairs, **more}


def otlp(*spans: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def test_otel_numbered_attributes_several_spans_and_others(tmp_path: Path) -> None:
    numbered = {
        "gen_ai.operation.name": "chat",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "be brief",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "hello",
        "gen_ai.prompt.2.role": "assistant",
        "gen_ai.prompt.2.tool_calls.0.id": "c",
        "gen_ai.prompt.2.tool_calls.0.name": "look",
        "gen_ai.prompt.2.tool_calls.0.arguments": "{}",
        "gen_ai.prompt.10.role": "tool",
        "gen_ai.prompt.10.tool_call_id": "c",
        "gen_ai.prompt.10.content": "seen",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "done",
        "llm.request.functions.0.name": "look",
        "llm.request.functions.0.description": "Looks.",
        "llm.request.functions.0.parameters": json.dumps(TOOL["parameters"]),
    }
    requests, skipped = read(
        tmp_path,
        otlp(
            span({"gen_ai.operation.name": "execute_tool"}),
            span({"http.method": "GET"}),
            span(numbered, parentSpanId="0"),
            span({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, spanId="2"),
        ),
        expect="otel-genai",
    )
    (request,) = requests
    assert request.messages[:2] == [SYSTEM, USER]
    assert [message["role"] for message in request.messages] == ["system", "user", "assistant", "tool"]
    assert request.tools == [{"type": "function", "function": TOOL}]
    assert request.answer == {"role": "assistant", "content": "done"}
    assert request.session == "t"
    assert "span 2" in skipped[0].reason


@pytest.mark.parametrize("kind", ["details event", "message events", "prompt event"])
def test_otel_messages_in_events(tmp_path: Path, kind: str) -> None:
    parts = [{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]
    pairs = [{"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps(parts)}}]
    events: list[dict[str, Any]] = [
        {"name": "gen_ai.client.inference.operation.details", "attributes": pairs}
    ]
    attributes = {"gen_ai.operation.name": "chat"}
    if kind == "message events":
        events = [{"name": "gen_ai.user.message", "attributes": {"content": "hello"}}]
    elif kind == "prompt event":
        events, attributes = [], {**attributes, "gen_ai.prompt": json.dumps([USER])}
    request = one(tmp_path, otlp(span(attributes, events=events)), "otel-genai")
    assert request.messages == [USER]
    assert request.session is None


def test_otel_span_as_a_line_of_its_own(tmp_path: Path) -> None:
    line = {
        "name": "chat m",
        "context": {"trace_id": "0x1", "span_id": "0x2"},
        "start_time": "2026-05-20T10:00:00Z",
        "attributes": {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps([USER])},
    }
    request = one(tmp_path, line, "otel-genai")
    assert (request.id, request.messages, request.time_s) == ("0x2", [USER], 1779271200.0)
