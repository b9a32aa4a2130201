"""Messages of the Anthropic Messages API as chat messages."""

from __future__ import annotations

from typing import Any

from keepwarm.trace.readers.base import Unusable
from keepwarm.trace.readers.chat import Body, kind, params_of, tools_of
from keepwarm.trace.readers.dialogue import Content, Dialogue, text_or_parts
from keepwarm.trace.readers.fields import as_object, as_text, to_json_text
from keepwarm.trace.records import JsonObject


def anthropic_body(body: JsonObject) -> Body:
    """A body of the Messages API in the chat shape; raises Unusable."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise Unusable(f"messages is {kind(messages)}; a list is expected")
    if not messages:
        raise Unusable("messages is empty")
    dialogue = Dialogue()
    system = _content(body.get("system") or [], "system")
    if system:
        dialogue.say("system", system)
    for index, message in enumerate(messages):
        add_anthropic_message(dialogue, message, f"messages[{index}]")
    model = as_text(body.get("model")) or ""
    return Body(model, dialogue.messages, tools_of(body.get("tools")), params_of(body))


def add_anthropic_message(dialogue: Dialogue, message: Any, where: str) -> None:
    """Add what one message of the Messages API stands for; raises Unusable."""
    if not isinstance(message, dict):
        raise Unusable(f"{where} is {kind(message)}; an object is expected")
    role = as_text(message.get("role"))
    if role is None:
        raise Unusable(f"{where} has no role")
    content = message.get("content")
    if isinstance(content, str):
        if role == "assistant":
            dialogue.model_text(content)
        else:
            dialogue.say(role, content)
    elif not isinstance(content, list):
        raise Unusable(f"{where}.content is {kind(content)}; text or a list is expected")
    elif role == "assistant":
        _add_model_blocks(dialogue, content, where)
    else:
        _add_user_blocks(dialogue, role, content, where)
    dialogue.close()


def anthropic_answer(content: Any) -> JsonObject | None:
    """The content of a response as one assistant message, ``None`` if it is no content."""
    if not isinstance(content, list) or not content:
        return None
    dialogue = Dialogue()
    try:
        _add_model_blocks(dialogue, content, "response")
    except Unusable:  # the prompt is good all the same
        return None
    return dialogue.messages[-1] if dialogue.messages else None


def _add_user_blocks(dialogue: Dialogue, role: str, blocks: list[Any], where: str) -> None:
    """Tool results become messages of the role ``tool``; what is between them stays together."""
    parts: list[JsonObject] = []
    for number, block in enumerate(blocks):
        place = f"{where}.content[{number}]"
        if as_object(block).get("type") != "tool_result":
            parts.append(_part(block, place))
            continue
        if parts:
            dialogue.say(role, text_or_parts(parts))
            parts = []
        flag = {"is_error": True} if block.get("is_error") is True else {}
        result = _content(block.get("content") or "", place)
        dialogue.say("tool", result, tool_call_id=as_text(block.get("tool_use_id")) or "", **flag)
    if parts or not blocks:
        dialogue.say(role, text_or_parts(parts))


def _add_model_blocks(dialogue: Dialogue, blocks: list[Any], where: str) -> None:
    parts: list[JsonObject] = []

    def flush() -> None:
        nonlocal parts
        if parts:
            dialogue.model_text(text_or_parts(parts))
            parts = []

    for number, block in enumerate(blocks):
        block_type = as_object(block).get("type")
        if block_type in ("tool_use", "server_tool_use", "mcp_tool_use"):
            flush()
            name = as_text(block.get("name"))
            if name is None:
                raise Unusable(f"{where}.content[{number}] has no name")
            dialogue.model_call(as_text(block.get("id")), name, block.get("input"))
        elif block_type == "thinking":
            flush()
            dialogue.model_reasoning(as_text(block.get("thinking")) or "")
        elif block_type == "redacted_thinking":
            continue  # opaque to everyone but the provider
        elif isinstance(block_type, str) and block_type.endswith("_tool_result"):
            flush()
            call_id = as_text(block.get("tool_use_id")) or ""
            dialogue.say("tool", to_json_text(block.get("content")), tool_call_id=call_id)
        else:
            parts.append(_part(block, f"{where}.content[{number}]"))
    flush()


def _content(content: Any, where: str) -> Content:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise Unusable(f"{where} is {kind(content)}; text or a list is expected")
    parts = [_part(block, f"{where}[{number}]") for number, block in enumerate(content)]
    return text_or_parts(parts) if parts else ""


def _part(block: Any, where: str) -> JsonObject:
    """A text or picture as a part of chat content; anything else as it is."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise Unusable(f"{where} is {kind(block)} without a type; a block is expected")
    if block["type"] == "text":
        text = block.get("text")
        if not isinstance(text, str):
            raise Unusable(f"{where}.text is {kind(text)}; text is expected")
        return {"type": "text", "text": text}
    if block["type"] == "image":
        source = as_object(block.get("source"))
        url = source.get("url")
        if url is None:
            url = f"data:{source.get('media_type')};base64,{source.get('data')}"
        return {"type": "image_url", "image_url": {"url": url}}
    return {key: value for key, value in block.items() if key != "cache_control"}
