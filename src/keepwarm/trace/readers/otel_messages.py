"""Messages of the OpenTelemetry conventions for generative AI as chat messages."""

from __future__ import annotations

from typing import Any

from keepwarm.trace.readers.base import Unusable
from keepwarm.trace.readers.chat import chat_messages, kind
from keepwarm.trace.readers.dialogue import Content, Dialogue, text_or_parts
from keepwarm.trace.readers.fields import as_list, as_object, as_text, first, from_json_text, to_json_text
from keepwarm.trace.readers.otel_attributes import attributes_of, numbered
from keepwarm.trace.records import JsonObject

_MESSAGE_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


def span_messages(attributes: JsonObject, events: list[Any]) -> list[JsonObject]:
    """The prompt of a span, in whichever generation of the conventions it is written; raises Unusable.

    Messages with parts in ``gen_ai.input.messages``; numbered attributes ``gen_ai.prompt.N.role``;
    JSON in ``gen_ai.prompt``; or one event per message. Empty where the span has none.
    """
    dialogue = Dialogue()
    system = from_json_text(attributes.get("gen_ai.system_instructions"))
    if system:
        dialogue.say("system", _system_text(system))
    given = from_json_text(attributes.get("gen_ai.input.messages"))
    if given is not None:
        if not isinstance(given, list):
            raise Unusable(f"gen_ai.input.messages is {kind(given)}; a list is expected")
        for index, message in enumerate(given):
            add_message(dialogue, message, f"gen_ai.input.messages[{index}]")
        return dialogue.messages
    numbered_ones = numbered(attributes, "gen_ai.prompt")
    if numbered_ones:
        return chat_messages([*dialogue.messages, *map(_of_numbered, numbered_ones)])
    whole = from_json_text(attributes.get("gen_ai.prompt"))
    if isinstance(whole, list) and whole:
        return chat_messages([*dialogue.messages, *whole])
    said = [_of_event(as_object(event)) for event in events]
    found = [message for message in said if message is not None]
    return chat_messages([*dialogue.messages, *found]) if found else []


def span_answer(attributes: JsonObject) -> JsonObject | None:
    """The first message that came back."""
    dialogue = Dialogue()
    given = as_list(from_json_text(attributes.get("gen_ai.output.messages")))
    completions = numbered(attributes, "gen_ai.completion")
    try:
        if given:
            add_message(dialogue, given[0], "gen_ai.output.messages[0]")
            return dialogue.messages[-1] if dialogue.messages else None
        if completions:
            return chat_messages([{**_of_numbered(completions[0]), "role": "assistant"}])[0]
    except Unusable:  # the prompt is good all the same
        pass
    return None


def add_message(dialogue: Dialogue, message: Any, where: str) -> None:
    """Add what one message with parts stands for; raises Unusable."""
    role = as_text(as_object(message).get("role"))
    if role is None:
        raise Unusable(f"{where} is {kind(message)} without a role; a message is expected")
    parts = message.get("parts")
    if parts is None:  # as instrumentations wrote it before parts
        dialogue.close()
        dialogue.messages.extend(chat_messages([message]))
        return
    if not isinstance(parts, list):
        raise Unusable(f"{where}.parts is {kind(parts)}; a list is expected")
    kept: list[JsonObject] = []
    for number, part in enumerate(parts):
        if not _add_special(dialogue, as_object(part)):
            kept.append(_part(part, f"{where}.parts[{number}]"))
    if role == "assistant":
        _add_model_text(dialogue, kept)
        dialogue.close()
    elif kept or not parts:
        dialogue.say(role, text_or_parts(kept))


def _add_model_text(dialogue: Dialogue, parts: list[JsonObject]) -> None:
    """Text belongs to the message of the calls beside it, whatever their order in the parts."""
    if not parts:
        return
    last = dialogue.messages[-1] if dialogue.messages else {}
    if last.get("role") == "assistant" and last.get("content") is None and dialogue.is_open:
        last["content"] = text_or_parts(parts)
    else:
        dialogue.model_text(text_or_parts(parts))


def _add_special(dialogue: Dialogue, part: JsonObject) -> bool:
    """Add a part that is no content: a call, its result, reasoning. False for any other."""
    part_type = part.get("type")
    if part_type == "tool_call":
        dialogue.model_call(as_text(part.get("id")), as_text(part.get("name")) or "", part.get("arguments"))
    elif part_type == "tool_call_response":
        result = first(part, "response", "result")
        text = result if isinstance(result, str) else to_json_text(result)
        dialogue.say("tool", text, tool_call_id=as_text(part.get("id")) or "")
    elif part_type in ("reasoning", "thinking"):
        dialogue.model_reasoning(as_text(part.get("content")) or "")
    else:
        return False
    return True


def _part(part: Any, where: str) -> JsonObject:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise Unusable(f"{where} is {kind(part)} without a type; a part is expected")
    if part["type"] == "text":
        text = first(part, "content", "text")
        if not isinstance(text, str):
            raise Unusable(f"{where}.content is {kind(text)}; text is expected")
        return {"type": "text", "text": text}
    if part["type"] == "uri" and isinstance(part.get("uri"), str):
        return {"type": "image_url", "image_url": {"url": part["uri"]}}
    if part["type"] == "blob" and isinstance(part.get("content"), str):
        url = f"data:{part.get('mime_type')};base64,{part['content']}"
        return {"type": "image_url", "image_url": {"url": url}}
    return part


def _system_text(system: Any) -> Content:
    if isinstance(system, str):
        return system
    if not isinstance(system, list):
        raise Unusable(f"gen_ai.system_instructions is {kind(system)}; a list is expected")
    where = "gen_ai.system_instructions"
    return text_or_parts([_part(part, f"{where}[{number}]") for number, part in enumerate(system)])


def _of_numbered(message: JsonObject) -> JsonObject:
    calls = [
        {
            "id": as_text(call.get("id")) or "",
            "type": "function",
            "function": {"name": call.get("name"), "arguments": call.get("arguments")},
        }
        for call in numbered(message, "tool_calls")
    ]
    chat: JsonObject = {"role": message.get("role"), "content": from_json_text(message.get("content"))}
    if not isinstance(chat["content"], list):
        chat["content"] = message.get("content")
    if calls:
        chat["tool_calls"] = calls
    if "tool_call_id" in message:
        chat["tool_call_id"] = message["tool_call_id"]
    return chat


def _of_event(event: JsonObject) -> JsonObject | None:
    role = _MESSAGE_EVENTS.get(as_text(event.get("name")) or "")
    if role is None:
        return None
    given = attributes_of(event)
    told = from_json_text(given.get("gen_ai.event.content"))
    given = {**given, **told} if isinstance(told, dict) else given
    message: JsonObject = {"role": as_text(given.get("role")) or role, "content": given.get("content")}
    calls = from_json_text(given.get("tool_calls"))
    if calls:
        message["tool_calls"] = calls
    if role == "tool":
        message["tool_call_id"] = as_text(given.get("id")) or ""
    return message
