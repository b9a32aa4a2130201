"""Which API a request body belongs to, by marks that only one of them has."""

from __future__ import annotations

import enum
from typing import Any

from keepwarm.trace.readers.envelope import Call
from keepwarm.trace.records import JsonObject

_ANTHROPIC_PARTS = frozenset(
    ("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document")
)
_CHAT_PARTS = frozenset(("image_url", "input_audio", "file"))
_CHAT_ROLES = frozenset(("system", "developer", "tool", "function"))


class Api(enum.Enum):
    """The API of a request body."""

    CHAT = "chat"
    ANTHROPIC = "anthropic"
    RESPONSES = "responses"
    UNCLEAR = "unclear"  # messages that chat and Anthropic could both have
    NONE = "none"


def api_of(call: Call) -> Api:
    """The API whose marks the body (or, failing that, the response) bears."""
    body, response = call
    if not isinstance(body, dict):
        return Api.NONE
    if not isinstance(body.get("messages"), list):
        return _api_without_messages(body, response)
    if "system" in body or "anthropic_version" in body:
        return Api.ANTHROPIC
    return _api_of_tools(body.get("tools")) or _api_of_messages(body["messages"]) or _api_of_answer(response)


def _api_without_messages(body: JsonObject, response: JsonObject) -> Api:
    named = "model" in body
    if "messages" in body or (named and ("prompt" in body or "prompt_token_ids" in body)):
        return Api.CHAT
    is_responses = "input" in body and ("instructions" in body or isinstance(body["input"], list | str))
    return Api.RESPONSES if is_responses and (named or response.get("object") == "response") else Api.NONE


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
        role = message.get("role")
        if (isinstance(role, str) and role in _CHAT_ROLES) or message.get("tool_calls"):
            return Api.CHAT
        content = message.get("content")
        api = _api_of_parts(content) if isinstance(content, list) else None
        if api is not None:
            return api
    return None


def _api_of_parts(parts: list[Any]) -> Api | None:
    for part in parts:
        part_type = part.get("type") if isinstance(part, dict) else None
        if isinstance(part_type, str):
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
