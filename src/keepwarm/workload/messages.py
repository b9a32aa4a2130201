"""What a request's own messages say about why it was sent."""

from __future__ import annotations

from keepwarm.reuse.calls import ToolCall
from keepwarm.trace.records import JsonObject, Request

_RESULT_ROLES = ("tool", "function")


def after_tool(request: Request) -> bool:
    """Whether a tool's result made the session send this request: as recorded, else its last message."""
    if request.after_tool is not None:
        return request.after_tool
    return bool(request.messages) and request.messages[-1].get("role") in _RESULT_ROLES


def call_before(request: Request) -> ToolCall | None:
    """The call whose result is new in this request; of several made at once, the first."""
    if not request.messages or not after_tool(request):
        return None
    for message in reversed(request.messages):
        if message.get("role") == "assistant":
            return _first_call(message)
    return None


def _first_call(message: JsonObject) -> ToolCall | None:
    calls = message.get("tool_calls")
    call = calls[0] if isinstance(calls, list) and calls else {"function": message.get("function_call")}
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return None
    arguments = function.get("arguments")
    return ToolCall(function["name"], arguments if isinstance(arguments, str) else "")
