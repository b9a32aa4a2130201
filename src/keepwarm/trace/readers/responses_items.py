"""Items of the OpenAI Responses API as chat messages."""

from __future__ import annotations

from typing import Any

from keepwarm.trace.readers.base import Unusable
from keepwarm.trace.readers.chat import kind
from keepwarm.trace.readers.dialogue import Content, Dialogue, text_or_parts
from keepwarm.trace.readers.fields import as_list, as_object, as_text, to_json_text
from keepwarm.trace.records import JsonObject

MODEL_CALLS = frozenset(("function_call", "custom_tool_call", "local_shell_call"))
_CALL_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output", "local_shell_call_output"))
_TEXT_PARTS = frozenset(("input_text", "output_text", "text", "summary_text", "reasoning_text"))


def is_model_item(item: JsonObject) -> bool:
    """Whether the model wrote the item."""
    item_type = item.get("type", "message")
    if item_type == "message":
        return item.get("role") == "assistant"
    return item_type == "reasoning" or (isinstance(item_type, str) and item_type in MODEL_CALLS)


def add_item(dialogue: Dialogue, item: Any, where: str) -> None:
    """Add what one item stands for; unknown kinds of items add nothing. Raises Unusable."""
    if not isinstance(item, dict):
        raise Unusable(f"{where} is {kind(item)}; an object is expected")
    item_type = item.get("type", "message")
    if item_type == "message":
        _add_message(dialogue, item, where)
    elif item_type == "reasoning":
        dialogue.model_reasoning(_reasoning_text(item))
    elif item_type == "item_reference":
        raise Unusable(f"{where} refers to an item by its id; its text is not in the record")
    elif isinstance(item_type, str) and item_type in MODEL_CALLS:
        _add_call(dialogue, item, where)
    elif isinstance(item_type, str) and item_type in _CALL_OUTPUTS:
        output = _output(item.get("output"), f"{where}.output")
        dialogue.say("tool", output, tool_call_id=as_text(item.get("call_id")) or "")


def _add_message(dialogue: Dialogue, item: JsonObject, where: str) -> None:
    role = item.get("role")
    if not isinstance(role, str) or not role:
        raise Unusable(f"{where} has no role")
    content = _content(item.get("content"), f"{where}.content")
    if role == "assistant":
        dialogue.model_text(content)
    else:
        dialogue.say(role, content)


def _add_call(dialogue: Dialogue, item: JsonObject, where: str) -> None:
    call_id = as_text(item.get("call_id")) or as_text(item.get("id"))
    if item["type"] == "local_shell_call":
        dialogue.model_call(call_id, "local_shell", item.get("action"))
        return
    name = as_text(item.get("name"))
    if name is None:
        raise Unusable(f"{where} has no name")
    dialogue.model_call(call_id, name, item.get("arguments", item.get("input")))


def _reasoning_text(item: JsonObject) -> str:
    """The reasoning if it is told, else its summary; encrypted reasoning gives nothing."""
    for key in ("content", "summary"):
        texts = [as_object(part).get("text") for part in as_list(item.get(key))]
        told = [text for text in texts if isinstance(text, str)]
        if told:
            return "\n".join(told)
    return ""


def _output(output: Any, where: str) -> Content:
    if isinstance(output, dict):  # as older agents wrote it: {"content": ..., "success": ...}
        output = output.get("content", to_json_text(output))
    return "" if output is None else _content(output, where)


def _content(content: Any, where: str) -> Content:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise Unusable(f"{where} is {kind(content)}; text or a list is expected")
    return text_or_parts([_part(part, f"{where}[{number}]") for number, part in enumerate(content)])


def _part(part: Any, where: str) -> JsonObject:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise Unusable(f"{where} is {kind(part)} without a type; a part is expected")
    if part["type"] in _TEXT_PARTS or part["type"] == "refusal":
        text = part.get("refusal" if part["type"] == "refusal" else "text")
        if not isinstance(text, str):
            raise Unusable(f"{where}.text is {kind(text)}; text is expected")
        return {"type": "text", "text": text}
    if part["type"] == "input_image" and isinstance(part.get("image_url"), str):
        detail = {"detail": part["detail"]} if "detail" in part else {}
        return {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}
    return part
