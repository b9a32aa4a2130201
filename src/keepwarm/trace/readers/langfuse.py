"""Observations exported from Langfuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keepwarm.trace.readers.base import CERTAIN, Reader, Unusable
from keepwarm.trace.readers.chat import Body, chat_messages, kind, params_of, tools_of
from keepwarm.trace.readers.fields import (
    as_count,
    as_list,
    as_object,
    as_seconds,
    as_text,
    call_site_of,
    first,
    from_json_text,
    seconds_between,
    session_of,
)
from keepwarm.trace.records import JsonObject, Request, Skipped, Usage

_CACHED_KEYS = ("input_cached_tokens", "input_cache_read", "cache_read_input_tokens", "cached_tokens")
_WRITTEN_KEYS = ("input_cache_creation", "cache_creation_input_tokens")
_OBSERVATION_TYPES = frozenset(("GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER"))


class LangfuseReader(Reader):
    """Observations exported from Langfuse, one a line, or traces with their `observations`.

    Only observations of the type `GENERATION` are requests. `input` is `{"messages", "tools"}`, a list of
    messages or a text (a prompt without chat messages), also as a string of JSON; tools may sit in
    `modelParameters`. The session is `sessionId`; failing that, observations nested in a trace
    belong to that trace. `promptName` names the call site. The prompt's tokens are total less output.
    """

    name = "langfuse"

    @staticmethod
    def score(record: JsonObject) -> float:
        """By the type of an observation in a trace."""
        if isinstance(record.get("observations"), list) and "id" in record:
            inner = record["observations"]
            return CERTAIN if inner and LangfuseReader.score(as_object(inner[0])) else 0.0
        has_trace = "traceId" in record or "trace_id" in record
        observed = record.get("type")
        return CERTAIN if has_trace and isinstance(observed, str) and observed in _OBSERVATION_TYPES else 0.0

    def read(self, record: JsonObject, line: int) -> Iterator[Request | Skipped]:
        """One request per generation."""
        if "observations" not in record or ("input" in record and "traceId" in record):
            yield from _generation(record, line, None)
            return
        session = as_text(first(record, "sessionId", "session_id")) or as_text(record.get("id"))
        for number, observation in enumerate(as_list(record["observations"])):
            try:
                yield from _generation(as_object(observation), line, session)
            except Unusable as error:
                yield Skipped(line, f"observations[{number}]: {error}")


def _generation(record: JsonObject, line: int, session: str | None) -> Iterator[Request]:
    if record.get("type") != "GENERATION":
        return
    body = _body(record)
    metadata = from_json_text(record.get("metadata"))
    nested = first(record, "parentObservationId", "parent_observation_id") is not None
    trace_id = as_text(first(record, "traceId", "trace_id")) if nested else None
    start_s = as_seconds(first(record, "startTime", "start_time"))
    token_s = as_seconds(first(record, "completionStartTime", "completion_start_time"))
    yield Request(
        line=line,
        id=as_text(record.get("id")) or f"line-{line}",
        time_s=start_s,
        session=session_of(record, metadata) or session or trace_id,
        call_site=as_text(first(record, "promptName", "prompt_name")) or call_site_of(metadata),
        model=body.model,
        messages=body.messages,
        tools=body.tools,
        params=body.params,
        prompt_text=body.prompt_text,
        answer=_answer(from_json_text(record.get("output"))),
        usage=_usage(record),
        ttft_s=seconds_between(start_s, token_s),
        end_s=as_seconds(first(record, "endTime", "end_time")),
    )


def _body(record: JsonObject) -> Body:
    given = from_json_text(record.get("input"))
    parameters = as_object(from_json_text(first(record, "modelParameters", "model_parameters")))
    model = as_text(first(record, "model", "providedModelName", "provided_model_name")) or ""
    tools: Any = from_json_text(parameters.get("tools"))
    params = params_of(parameters)
    if isinstance(given, str) and given:
        return Body(model, [], tools_of(tools), params, given)
    if isinstance(given, dict) and "role" in given:
        given = [given]
    if isinstance(given, dict):
        tools = given.get("tools") or tools
        params = {**params, **params_of(given)}
        given = given.get("messages", given.get("input"))
    elif not isinstance(given, list):
        raise Unusable(f"input is {kind(given)}; messages or a text are expected")
    return Body(model, chat_messages(given), tools_of(tools), params)


def _answer(output: Any) -> JsonObject | None:
    if isinstance(output, list) and output:
        output = output[0]
    if isinstance(output, str):
        return {"role": "assistant", "content": output}
    if isinstance(output, dict) and ("content" in output or "tool_calls" in output):
        try:
            return chat_messages([{"role": "assistant", **output}])[0]
        except Unusable:  # the prompt is good all the same
            return None
    return None


def _usage(record: JsonObject) -> Usage:
    """Langfuse counts cached tokens apart from ``input``; ``total`` is always the sum."""
    usage = as_object(first(record, "usageDetails", "usage_details", "usage"))
    output = as_count(first(usage, "output", "completion_tokens", "completionTokens"))
    total = as_count(first(usage, "total", "total_tokens", "totalTokens"))
    cached = as_count(first(usage, *_CACHED_KEYS))
    prompt = as_count(first(usage, "input", "prompt_tokens", "promptTokens"))
    if total is not None and output is not None and total >= output:
        prompt = total - output
    elif prompt is not None:
        prompt += (cached or 0) + (as_count(first(usage, *_WRITTEN_KEYS)) or 0)
    return Usage(prompt_tokens=prompt, output_tokens=output, cached_tokens=cached)
