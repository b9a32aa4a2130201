"""Which API a request body or response belongs to, by marks that only one of them has."""

from __future__ import annotations

import enum
from typing import Any

from keepwarm.trace.readers.fields import as_object
from keepwarm.trace.records import JsonObject

_ANTHROPIC_PARTS = frozenset(
    ("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document")
)
_CHAT_PARTS = frozenset(("image_url", "input_audio", "file"))


class Api(enum.Enum):
    """The API of a request body."""

    CHAT = "chat"
    ANTHROPIC = "anthropic"
    RESPONSES = "responses"
    UNCLEAR = "unclear"  # messages that chat and Anthropic could both have
    NONE = "none"


def body_and_response(record: JsonObject) -> tuple[Any, JsonObject]:
    """Request body and response of a record: wrapped in ``body``, ``request`` or not at all."""
    body: Any = record.get("body")
    if body is None:
        body = record.get("request")
        if isinstance(body, dict) and isinstance(body.get("body"), dict):
            body = body["body"]
    if body is None and "body" not in record and "request" not in record:
        body = record
    response = as_object(record.get("response"))
    if isinstance(response.get("body"), dict):
        response = response["body"]
    return body, response


def api_of(body: object, response: JsonObject) -> Api:
    """The API whose marks the body (or, failing that, the response) bears."""
    if not isinstance(body, dict):
        return Api.NONE
    if not isinstance(body.get("messages"), list):
        if "input" in body and ("model" in body or response.get("object") == "response"):
            return Api.RESPONSES
        is_completion = "prompt" in body and "model" in body
        return Api.CHAT if is_completion or "messages" in body else Api.NONE
    if "system" in body or "anthropic_version" in body:
        return Api.ANTHROPIC
    return _api_of_tools(body.get("tools")) or _api_of_messages(body["messages"]) or _api_of_answer(response)


def _api_of_tools(tools: object) -> Api | None:
    if isinstance(tools, list) and tools and isinstance(tools[0], dict):
        if "function" in tools[0]:
            return Api.CHAT
        if "input_schema" in tools[0]:
            return Api.ANTHROPIC
    return None


def _api_of_messages(messages: list[Any]) -> Api | None:
    for message in messages:
        if not isinstance(message, dict):
            continue
        if message.get("role") in ("system", "developer", "tool", "function") or message.get("tool_calls"):
            return Api.CHAT
        content = message.get("content")
        if isinstance(content, list):
            for part in content:
                part_type = part.get("type") if isinstance(part, dict) else None
                if not isinstance(part_type, str):
                    continue
                if part_type in _ANTHROPIC_PARTS:
                    return Api.ANTHROPIC
                if part_type in _CHAT_PARTS:
                    return Api.CHAT
    return None


def _api_of_answer(response: JsonObject) -> Api:
    if "choices" in response:
        return Api.CHAT
    if response.get("type") == "message":
        return Api.ANTHROPIC
    return Api.UNCLEAR
