"""What stands around a body in a recorded call: id, times, session, call site, engine."""

from __future__ import annotations

from typing import NamedTuple

from keepwarm.trace.readers.chat import Body
from keepwarm.trace.readers.fields import (
    as_count,
    as_duration,
    as_object,
    as_seconds,
    as_text,
    call_site_of,
    first,
    from_json_text,
    session_of,
)
from keepwarm.trace.records import JsonObject, Request, Usage

START_KEYS = ("timestamp", "time", "start", "start_time", "startTime", "created_at", "ts")
END_KEYS = ("end", "end_time", "endTime")
TTFT_KEYS = ("time_to_first_token", "ttft", "ttft_s")

_AROUND = frozenset(
    ("id", "custom_id", "session_id", "response", "usage", "engine", *START_KEYS, *END_KEYS, *TTFT_KEYS)
)


class Call(NamedTuple):
    """A record taken apart; ``body`` is the record itself where nothing wraps it."""

    body: object
    response: JsonObject


class Answer(NamedTuple):
    """What came back."""

    message: JsonObject | None
    usage: Usage
    prompt_token_ids: list[int] | None = None
    token_ids: list[int] | None = None


def call_of(record: JsonObject) -> Call:
    """Request body (under ``body``, ``request``, ``params`` or bare) and response of a record."""
    body: object = record
    for key in ("body", "request", "params"):
        if key in record:
            body = record[key]
            break
    body = from_json_text(body)
    if isinstance(body, dict) and isinstance(from_json_text(body.get("body")), dict):
        body = from_json_text(body["body"])
    response = as_object(from_json_text(record.get("response")))
    inner = from_json_text(response.get("body"))
    return Call(body, inner if isinstance(inner, dict) else response)


def request_of(record: JsonObject, call: Call, body: Body, answer: Answer, line: int) -> Request:
    """The request of a record whose body and answer have been read."""
    bare = call.body is record
    response = call.response
    metadata, body_metadata = record.get("metadata"), as_object(call.body).get("metadata")
    started = first(record, *START_KEYS)
    return Request(
        line=line,
        id=as_text(first(record, "id", "custom_id")) or as_text(response.get("id")) or f"line-{line}",
        time_s=as_seconds(first(response, "created", "created_at") if started is None else started),
        session=session_of(record, metadata, body_metadata),
        call_site=call_site_of(metadata, body_metadata)
        or as_text(first(record, "call_site", "callsite", "callSite")),
        model=body.model or as_text(record.get("model")) or as_text(response.get("model")) or "",
        messages=body.messages,
        tools=body.tools,
        params={key: value for key, value in body.params.items() if key not in _AROUND}
        if bare
        else body.params,
        prompt_text=body.prompt_text,
        prompt_token_ids=body.prompt_token_ids or answer.prompt_token_ids,
        answer=answer.message,
        answer_token_ids=answer.token_ids,
        usage=answer.usage,
        ttft_s=as_duration(first(record, *TTFT_KEYS)),
        end_s=as_seconds(first(record, *END_KEYS)),
        chat_template=None if bare else as_text(record.get("chat_template")),
        block_size=as_count(as_object(record.get("engine")).get("block_size")) or None,
    )
