"""Conversations in the ShareGPT form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keepwarm.trace.readers.base import CERTAIN, Reader, Unusable
from keepwarm.trace.readers.chat import kind, tools_of
from keepwarm.trace.readers.dialogue import Dialogue
from keepwarm.trace.readers.fields import as_list, as_object, as_text, first, from_json_text
from keepwarm.trace.records import JsonObject, Request

_ROLES = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "function_call": "call",
    "tool_call": "call",
    "observation": "tool",
    "function_response": "tool",
    "tool_response": "tool",
    "tool": "tool",
    "function": "tool",
}


class ShareGPTReader(Reader):
    """Conversations in the ShareGPT form: a JSON array or one conversation a line.

    `conversations` holds turns `{"from", "value"}`; each turn of the model is one request, whose prompt is
    everything above it, and each conversation is a session. `function_call` turns become tool calls,
    `observation` turns messages of the role `tool`. `system` and `tools` (also as a string of JSON) may stand
    beside the turns. The form has no call ids, so calls are numbered `call00001`; it has no times.
    """

    name = "sharegpt"

    @staticmethod
    def score(record: JsonObject) -> float:
        """By a list of turns."""
        turns = as_list(first(record, "conversations", "conversation"))
        turn = as_object(turns[0]) if turns else {}
        if "from" in turn and "value" in turn:
            return CERTAIN
        return CERTAIN if "conversations" in record and "role" in turn and "content" in turn else 0.0

    def read(self, record: JsonObject, line: int) -> Iterator[Request]:
        """One request per turn of the model."""
        turns = first(record, "conversations", "conversation")
        if not isinstance(turns, list) or not turns:
            raise Unusable(f"conversations is {'empty' if turns == [] else kind(turns)}; turns are expected")
        session = as_text(record.get("id")) or f"line-{line}"
        tools = tools_of(from_json_text(record.get("tools")) or None)
        model = as_text(record.get("model")) or ""
        dialogue = Dialogue()
        system = as_text(record.get("system"))
        if system is not None:
            dialogue.say("system", system)
        calls = _Calls()
        # Everything is checked before anything is given out: half a conversation is of no use.
        checked = [_turn(turn, index) for index, turn in enumerate(turns)]
        number = 0
        for role, value in checked:
            dialogue.close()
            before = list(dialogue.messages)
            if role not in ("assistant", "call"):
                _say(dialogue, role, value, calls)
                continue
            if role == "assistant" or not calls.add(dialogue, value):
                dialogue.model_text(value)
            if before:
                number += 1
                yield Request(
                    line=line,
                    id=f"{session}/{number}",
                    session=session,
                    model=model,
                    messages=before,
                    tools=tools,
                    answer=dialogue.messages[-1],
                )
        if number == 0:
            raise Unusable("no turn of the model with something before it")


class _Calls:
    """Numbers the calls of a conversation, and hands the numbers to their results in order."""

    def __init__(self) -> None:
        self._made = 0
        self._answered = 0

    def add(self, dialogue: Dialogue, value: str) -> bool:
        """Add the calls that a turn holds; false if it holds none."""
        said = from_json_text(value)
        calls = said if isinstance(said, list) else [said]
        if not calls or not all(isinstance(call, dict) and as_text(call.get("name")) for call in calls):
            return False
        for call in calls:
            self._made += 1
            arguments = first(call, "arguments", "parameters")
            dialogue.model_call(f"call{self._made:05d}", str(call["name"]), arguments)
        return True

    def next_answered(self) -> str:
        """Id of the earliest call that has no result yet."""
        self._answered = min(self._answered + 1, max(self._made, 1))
        return f"call{self._answered:05d}"


def _say(dialogue: Dialogue, role: str, value: str, calls: _Calls) -> None:
    if role == "tool":
        dialogue.say("tool", value, tool_call_id=calls.next_answered())
    else:
        dialogue.say(role, value)


def _turn(turn: Any, index: int) -> tuple[str, str]:
    where = f"conversations[{index}]"
    if not isinstance(turn, dict):
        raise Unusable(f"{where} is {kind(turn)}; an object is expected")
    speaker = as_text(first(turn, "from", "role"))
    role = _ROLES.get(speaker.lower()) if speaker is not None else None
    if role is None:
        raise Unusable(f"{where}.from is {speaker!r}; human, gpt, system or the like is expected")
    value = first(turn, "value", "content")
    if not isinstance(value, str):
        raise Unusable(f"{where}.value is {kind(value)}; text is expected")
    return role, value
