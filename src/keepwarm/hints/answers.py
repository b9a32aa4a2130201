"""Which hint follows from an answer: a tool runs now, or a person is to write next.

That no tool is called says something only where the request offered tools: some agents ask for commands in
plain text, and what they run next is no person's doing.
"""

from __future__ import annotations

from typing import Any

from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.messages import calls_of_message, calls_of_output

Told = dict[str, Any]  # the body of a hint

AWAITS_HUMAN: Told = {"awaits": "human"}


def hint_of(call: ToolCall | None, *, is_turn_over: bool) -> Told | None:
    """``is_turn_over``: the model could have called a tool, and ended by itself. None if nobody knows."""
    if call is not None:
        return call._asdict()
    return AWAITS_HUMAN if is_turn_over else None


def hint_of_answer(answer: object, *, has_tools: bool) -> Told | None:
    """Of a whole answer of chat.completions or of the Responses API, as JSON or as an object of a client."""
    choices = _field(answer, "choices")
    if isinstance(choices, list) and choices:
        message = _field(choices[0], "message")
        is_over = message is not None and _field(choices[0], "finish_reason") == "stop"
        return hint_of(calls_of_message(message), is_turn_over=is_over and has_tools)
    output = _field(answer, "output")
    if isinstance(output, list):
        is_over = _field(answer, "status") == "completed"
        return hint_of(calls_of_output(output), is_turn_over=is_over and has_tools)
    return None


class StreamedAnswer:
    """The same of the chunks of a chat.completions stream, of which the first choice counts."""

    def __init__(self, *, has_tools: bool) -> None:
        self._has_tools = has_tools
        self._calls: dict[int, dict[str, str]] = {}

    def add(self, chunk: object) -> Told | None:
        """Take the next chunk; the hint if it is the one that says how the answer ends. Mutates."""
        choices = _field(chunk, "choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if _field(choice, "index") != 0:
            return None
        calls = _field(_field(choice, "delta"), "tool_calls")
        for call in calls if isinstance(calls, list) else ():
            held = self._calls.setdefault(_field(call, "index"), {"name": "", "arguments": ""})
            for key in held:
                piece = _field(_field(call, "function"), key)
                if isinstance(piece, str) and not (key == "name" and piece == held[key]):
                    held[key] += piece
        reason = _field(choice, "finish_reason")
        if reason is None:
            return None
        message = {"tool_calls": [{"function": call} for call in self._calls.values()]}
        return hint_of(calls_of_message(message), is_turn_over=reason == "stop" and self._has_tools)


def _field(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)
