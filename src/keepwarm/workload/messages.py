"""What a request's own messages say about why it was sent."""

from __future__ import annotations

from keepwarm.reuse.calls import ToolCall, joined
from keepwarm.trace.records import JsonObject, Request

_RESULT_ROLES = ("tool", "function")


def after_tool(request: Request) -> bool:
    """Whether a tool's result made the session send this request: as recorded, else its last message."""
    if request.after_tool is not None:
        return request.after_tool
    return bool(request.messages) and request.messages[-1].get("role") in _RESULT_ROLES


def call_before(request: Request) -> ToolCall | None:
    """The call whose result is new in this request; several made side by side are one."""
    if not request.messages or not after_tool(request):
        return None
    for message in reversed(request.messages):
        if message.get("role") == "assistant":
            return joined(_calls(message))
    return None


def _calls(message: JsonObject) -> list[ToolCall]:
    made = message.get("tool_calls")
    if not isinstance(made, list):
        made = [{"function": message.get("function_call")}]
    functions = (call.get("function") for call in made if isinstance(call, dict))
    return [
        ToolCall(function["name"], _text(function.get("arguments")))
        for function in functions
        if isinstance(function, dict) and isinstance(function.get("name"), str)
    ]


def _text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else ""
