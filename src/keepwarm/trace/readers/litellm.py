"""Logs of the LiteLLM proxy or SDK."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from keepwarm.trace.readers.anthropic_blocks import anthropic_body
from keepwarm.trace.readers.base import CERTAIN, Reader
from keepwarm.trace.readers.chat import Body, chat_body
from keepwarm.trace.readers.envelope import Call
from keepwarm.trace.readers.fields import (
    as_count,
    as_object,
    as_seconds,
    as_text,
    call_site_of,
    chat_usage,
    first,
    from_json_text,
    seconds_between,
)
from keepwarm.trace.readers.openai_chat import chat_answer
from keepwarm.trace.readers.openai_responses import responses_body
from keepwarm.trace.readers.shapes import Api, api_of
from keepwarm.trace.records import JsonObject, Request, Usage

_SESSION_KEYS = ("session_id", "litellm_session_id", "trace_id", "litellm_trace_id")
_PROMPT_CALLS = ("completion", "responses", "messages", "generate_content")


class LiteLLMReader(Reader):
    """Logs of LiteLLM: the standard logging payload, spend logs, or what a callback is given.

    `messages` stand beside `model`; tools and parameters in `model_parameters` or `optional_params`;
    spend logs may keep the body in `proxy_server_request`. Parts may be strings of JSON. The session is
    `session_id` or `trace_id`. `startTime`, `completionStartTime` and `endTime` give the times. Calls
    that have no prompt to cache (`embedding`, `image_generation`) are passed over.
    """

    name = "litellm"

    @staticmethod
    def score(record: JsonObject) -> float:
        """By `call_type` and what LiteLLM says about a call."""
        if "standard_logging_object" in record:
            return CERTAIN
        if "call_type" not in record and "litellm_call_id" not in record:
            return 0.0
        known = ("messages", "model", "startTime", "litellm_params", "proxy_server_request")
        return CERTAIN if any(key in record for key in known) else 0.0

    def read(self, record: JsonObject, line: int) -> Iterable[Request]:
        """One request per completion."""
        payload = from_json_text(record.get("standard_logging_object"))
        if isinstance(payload, dict):
            record = {**record, **payload}
        call_type = record.get("call_type")
        if isinstance(call_type, str) and call_type and not any(name in call_type for name in _PROMPT_CALLS):
            return ()
        body = _body(record)
        response = as_object(from_json_text(record.get("response")))
        metadata = as_object(from_json_text(record.get("metadata")))
        start_s = as_seconds(first(record, "startTime", "start_time"))
        token_s = as_seconds(first(record, "completionStartTime", "completion_start_time"))
        answer = chat_answer({}, response)
        request = Request(
            line=line,
            id=as_text(first(record, "id", "request_id", "litellm_call_id")) or f"line-{line}",
            time_s=start_s,
            session=as_text(first(record, *_SESSION_KEYS)),
            call_site=call_site_of(metadata, metadata.get("requester_metadata")),
            model=body.model or as_text(record.get("model_group")) or "",
            messages=body.messages,
            tools=body.tools,
            params=body.params,
            prompt_text=body.prompt_text,
            prompt_token_ids=body.prompt_token_ids or answer.prompt_token_ids,
            answer=answer.message,
            answer_token_ids=answer.token_ids,
            usage=_usage(record, answer.usage, metadata),
            ttft_s=seconds_between(start_s, token_s),
            end_s=as_seconds(first(record, "endTime", "end_time")),
        )
        return (request,)


def _body(record: JsonObject) -> Body:
    parameters: JsonObject = {}
    for key in ("model_parameters", "optional_params"):
        parameters |= as_object(from_json_text(record.get(key)))
    messages: Any = from_json_text(first(record, "messages", "input"))
    proxied = as_object(from_json_text(record.get("proxy_server_request")))
    proxied = as_object(proxied.get("body", proxied))
    raw: JsonObject = {**parameters, "model": record.get("model")}
    if isinstance(messages, str) and messages and "text" in str(record.get("call_type")):
        raw["prompt"] = messages
    elif messages or not proxied:
        raw["messages"] = messages
    else:
        raw = {**proxied, **raw}
    api = api_of(Call(raw, {}))
    if api is Api.ANTHROPIC:
        return anthropic_body(raw)
    return responses_body(raw, []) if api is Api.RESPONSES else chat_body(raw)


def _usage(record: JsonObject, usage: Usage, metadata: JsonObject) -> Usage:
    if usage.prompt_tokens is not None:
        return usage
    reported = chat_usage(metadata.get("usage_object"))
    if reported.prompt_tokens is not None:
        return reported
    return Usage(
        prompt_tokens=as_count(record.get("prompt_tokens")),
        output_tokens=as_count(record.get("completion_tokens")),
    )
