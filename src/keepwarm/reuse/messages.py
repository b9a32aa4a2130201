"""The tool calls in messages of the OpenAI APIs: of an answer, and of the request that brings their results.

Content is a client's: whatever it looks like, nothing here raises, iterates over what is no list, or looks
further back than ``MOST_LOOKED_AT`` items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from keepwarm.reuse.calls import ToolCall, joined

MOST_LOOKED_AT = 256  # messages or items, from the end
MOST_CALLS = 32  # side by side
# Not sets: what is looked for may not be hashable.
_RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")


def calls_of_message(message: object) -> ToolCall | None:
    """What an assistant message of chat.completions asks for; several calls as one, None if none."""
    calls = _field(message, "tool_calls")
    if not isinstance(calls, list) or not calls:
        calls = [{"function": _field(message, "function_call")}]  # of the API before tools
    return _joined(_field(call, "function") or _field(call, "custom") for call in calls[:MOST_CALLS])


def calls_of(messages: object) -> ToolCall | None:
    """What ran before a chat request was sent: the calls of its last assistant message, if something follows.

    None if that message asks for none, so that a person has written since.
    """
    if not isinstance(messages, list):
        return None
    for back, message in enumerate(islice(reversed(messages), MOST_LOOKED_AT)):
        if _field(message, "role") == "assistant":
            return calls_of_message(message) if back else None
    return None


def calls_of_output(output: object) -> ToolCall | None:
    """What the output items of an answer of the Responses API ask for."""
    items = output if isinstance(output, list) else []
    return _joined(item for item in items[:MOST_LOOKED_AT] if _field(item, "type") in _CALLS)


def calls_of_input(items: object) -> ToolCall | None:
    """What ran before a request of the Responses API: the calls that the results at its end answer."""
    if not isinstance(items, list):
        return None
    calls: list[object] = []
    has_result = False
    for item in islice(reversed(items), MOST_LOOKED_AT):
        kind = _field(item, "type")
        if kind in _RESULTS and not calls:
            has_result = True
        elif kind in _CALLS and has_result:
            calls.append(item)
        elif calls or _field(item, "role") == "assistant":
            break
    return _joined(reversed(calls[:MOST_CALLS]))


def _joined(functions: Iterable[object]) -> ToolCall | None:
    return joined([call for function in functions for call in _call(function)])


def _call(function: object) -> Iterator[ToolCall]:
    name = _field(function, "name")
    if name is None and _field(function, "type") == "local_shell_call":
        name = "local_shell"
    if not isinstance(name, str) or not name:
        return
    for key in ("arguments", "input"):
        arguments = _field(function, key)
        if isinstance(arguments, str):
            yield ToolCall(name, arguments)
            return
    yield ToolCall(name, "")


def _field(value: object, name: str) -> Any:
    """Of an object as clients send it, or of one of a client library."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)
