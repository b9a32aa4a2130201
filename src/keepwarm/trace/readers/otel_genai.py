"""OpenTelemetry spans of the conventions for generative AI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keepwarm.trace.readers.base import CERTAIN, Reader, Unusable
from keepwarm.trace.readers.chat import tools_of
from keepwarm.trace.readers.fields import (
    as_count,
    as_duration,
    as_list,
    as_object,
    as_seconds,
    as_text,
    first,
    from_json_text,
)
from keepwarm.trace.readers.otel_attributes import attributes_of, numbered
from keepwarm.trace.readers.otel_messages import span_answer, span_messages
from keepwarm.trace.records import JsonObject, Request, Skipped, Usage

_RESOURCES = ("resourceSpans", "resource_spans", "batches")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_MODEL_CALLS = frozenset(("chat", "text_completion", "completion", "generate_content"))
_DETAILS_EVENT = "gen_ai.client.inference.operation.details"
_REQUEST = "gen_ai.request."


class OTelGenAIReader(Reader):
    """OpenTelemetry spans with the `gen_ai.*` conventions: OTLP JSON, or one exported span a line.

    Spans of the operations `chat`, `text_completion` and `generate_content` are requests; others are passed
    over. The prompt is `gen_ai.system_instructions` and `gen_ai.input.messages` (on the span or its details
    event), or in older generations of the conventions numbered attributes (`gen_ai.prompt.0.role`) or one
    event per message. Tools come from `gen_ai.tool.definitions` or `llm.request.functions.N`. The session is
    `gen_ai.conversation.id` or `session.id`; failing that, spans with a parent belong to their trace.
    """

    name = "otel-genai"

    @staticmethod
    def score(record: JsonObject) -> float:
        """By the resource spans of OTLP, or an exported span's attributes."""
        if any(isinstance(record.get(key), list) for key in _RESOURCES):
            return CERTAIN
        if "attributes" not in record or "name" not in record:
            return 0.0
        return CERTAIN if any(key.startswith("gen_ai.") for key in attributes_of(record)) else 0.0

    def read(self, record: JsonObject, line: int) -> Iterator[Request | Skipped]:
        """One request per span of a model call."""
        for span in _spans(record):
            try:
                yield from _request(span, line)
            except Unusable as error:
                name = as_text(first(span, "spanId", "span_id"))
                yield Skipped(line, f"span {name or '?'}: {error}")


def _spans(record: JsonObject) -> Iterator[JsonObject]:
    resources = first(record, *_RESOURCES)
    if resources is None:
        yield record
        return
    for resource in as_list(resources):
        for scope in as_list(first(as_object(resource), *_SCOPES)):
            for span in as_list(as_object(scope).get("spans")):
                if isinstance(span, dict):
                    yield span


def _request(span: JsonObject, line: int) -> Iterator[Request]:
    events = as_list(span.get("events"))
    attributes = attributes_of(span)
    for event in events:
        if as_object(event).get("name") == _DETAILS_EVENT:
            attributes = {**attributes, **attributes_of(event)}
    operation = attributes.get("gen_ai.operation.name")
    if operation is None:
        has_prompt = "gen_ai.input.messages" in attributes or "gen_ai.prompt.0.role" in attributes
        if not has_prompt:
            return
    elif not isinstance(operation, str) or operation not in _MODEL_CALLS:
        return
    messages = span_messages(attributes, events)
    if not messages:
        raise Unusable("no messages on it; switch the capture of message content on when recording")
    parent = as_text(first(span, "parentSpanId", "parent_span_id", "parent_id"))
    context = as_object(span.get("context"))
    trace_id = as_text(first(span, "traceId", "trace_id") or context.get("trace_id"))
    named = as_text(first(attributes, "gen_ai.conversation.id", "session.id"))
    yield Request(
        line=line,
        id=as_text(first(span, "spanId", "span_id") or context.get("span_id")) or f"line-{line}",
        time_s=as_seconds(first(span, "startTimeUnixNano", "start_time_unix_nano", "start_time")),
        session=named or (trace_id if parent is not None else None),
        call_site=as_text(first(attributes, "gen_ai.prompt.name", "gen_ai.agent.name")),
        model=as_text(first(attributes, "gen_ai.request.model", "gen_ai.response.model")) or "",
        messages=messages,
        tools=_tools(attributes),
        params=_params(attributes),
        answer=span_answer(attributes),
        usage=_usage(attributes),
        ttft_s=as_duration(attributes.get("gen_ai.server.time_to_first_token")),
        end_s=as_seconds(first(span, "endTimeUnixNano", "end_time_unix_nano", "end_time")),
    )


def _tools(attributes: JsonObject) -> list[JsonObject]:
    defined = from_json_text(attributes.get("gen_ai.tool.definitions"))
    if defined:
        return tools_of(defined)
    functions = numbered(attributes, "llm.request.functions")
    return tools_of([{key: from_json_text(value) for key, value in tool.items()} for tool in functions])


def _params(attributes: JsonObject) -> JsonObject:
    return {
        key.removeprefix(_REQUEST): value
        for key, value in attributes.items()
        if key.startswith(_REQUEST) and key != "gen_ai.request.model"
    }


def _usage(attributes: JsonObject) -> Usage:
    def count(*names: str) -> int | None:
        value: Any = first(attributes, *(f"gen_ai.usage.{name}" for name in names))
        return as_count(value)

    return Usage(
        prompt_tokens=count("input_tokens", "prompt_tokens"),
        output_tokens=count("output_tokens", "completion_tokens"),
        cached_tokens=count("cache_read.input_tokens", "cache_read_input_tokens", "input_tokens.cached"),
    )
