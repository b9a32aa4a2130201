"""Checks of an OpenAI chat (or completions) body, the shape that everything is turned into."""

from __future__ import annotations

from typing import Any, NamedTuple

from keepwarm.trace.readers.base import Unusable
from keepwarm.trace.readers.fields import as_object, as_text, to_json_text, token_ids
from keepwarm.trace.records import JsonObject

_NOT_PARAMS = frozenset(
    (
        *("model", "messages", "tools", "functions", "metadata", "system", "instructions", "input"),
        *("prompt", "prompt_token_ids", "previous_response_id"),
    )
)
_TEXT_REQUIRED = frozenset(("system", "developer", "user"))
_KINDS = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "missing",
}


class Body(NamedTuple):
    """A request body in the shape of ``Request``."""

    model: str
    messages: list[JsonObject]
    tools: list[JsonObject]
    params: JsonObject
    prompt_text: str | None = None
    prompt_token_ids: list[int] | None = None


def body_object(body: object) -> JsonObject:
    """The body, which has to be an object; raises Unusable."""
    if not isinstance(body, dict):
        raise Unusable(f"the request body is {kind(body)}; an object is expected")
    return body


def chat_body(body: JsonObject) -> Body:
    """A chat.completions or completions body, checked; raises Unusable."""
    model = as_text(body.get("model")) or ""
    ids = token_ids(body.get("prompt_token_ids"))
    if "messages" in body:
        messages = chat_messages(body["messages"])
        return Body(model, messages, chat_tools(body), params_of(body), None, ids)
    if "prompt" in body:
        return _completions_body(body, model)
    if ids:
        return Body(model, [], [], params_of(body), None, ids)
    raise Unusable("the body has neither messages nor a prompt")


def _completions_body(body: JsonObject, model: str) -> Body:
    prompt = body["prompt"]
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        prompt = prompt[0]
    if isinstance(prompt, str) and prompt:
        ids = token_ids(body.get("prompt_token_ids"))
        return Body(model, [], [], params_of(body), prompt, ids)
    ids = token_ids(prompt)
    if ids is None:
        raise Unusable(f"prompt is {kind(prompt)}; one text or one list of token ids is expected")
    return Body(model, [], [], params_of(body), None, ids)


def params_of(body: JsonObject) -> JsonObject:
    """The parameters of a body: all but what ``Request`` has a field for."""
    return {key: value for key, value in body.items() if key not in _NOT_PARAMS}


def kind(value: object) -> str:
    """The JSON type of a value in plain words, for messages."""
    return _KINDS.get(type(value), "something else")


def chat_messages(messages: object) -> list[JsonObject]:
    """The messages, checked; copied only where one had to be put right. Raises Unusable."""
    if not isinstance(messages, list):
        raise Unusable(f"messages is {kind(messages)}; a list is expected")
    if not messages:
        raise Unusable("messages is empty")
    fixed: list[JsonObject] | None = None
    for index, message in enumerate(messages):
        right = _chat_message(message, index)
        if right is not message:
            fixed = fixed or list(messages)
            fixed[index] = right
    return fixed or messages


def _chat_message(message: Any, index: int) -> JsonObject:
    if type(message) is not dict:
        raise Unusable(f"messages[{index}] is {kind(message)}; an object is expected")
    role = message.get("role")
    if type(role) is not str or not role:
        raise Unusable(f"messages[{index}] has no role")
    content = message.get("content")
    if content is None:
        if role in _TEXT_REQUIRED:
            raise Unusable(f"messages[{index}].content is missing (role {role!r})")
    elif type(content) is list:
        parts = _parts(content, index)
        if parts is not content:
            message = {**message, "content": parts}
    elif type(content) is not str:
        raise Unusable(f"messages[{index}].content is {kind(content)}; text or a list is expected")
    if message.get("tool_calls"):
        calls = _tool_calls(message["tool_calls"], index)
        if calls is not message["tool_calls"]:
            message = {**message, "tool_calls": calls}
    checked: JsonObject = message
    return checked


def _parts(parts: list[Any], index: int) -> list[Any]:
    fixed: list[Any] | None = None
    for number, part in enumerate(parts):
        where = f"messages[{index}].content[{number}]"
        if isinstance(part, str):
            right: Any = {"type": "text", "text": part}
        elif not isinstance(part, dict):
            raise Unusable(f"{where} is {kind(part)}; an object is expected")
        elif not isinstance(part.get("type"), str):
            if not isinstance(part.get("text"), str):
                raise Unusable(f"{where} has no type")
            right = {"type": "text", **part}
        elif part["type"] == "text" and not isinstance(part.get("text"), str):
            raise Unusable(f"{where}.text is {kind(part.get('text'))}; text is expected")
        else:
            continue
        fixed = fixed or list(parts)
        fixed[number] = right
    return fixed or parts


def _tool_calls(calls: Any, index: int) -> list[JsonObject]:
    if not isinstance(calls, list):
        raise Unusable(f"messages[{index}].tool_calls is {kind(calls)}; a list is expected")
    fixed: list[JsonObject] | None = None
    for number, call in enumerate(calls):
        where = f"messages[{index}].tool_calls[{number}]"
        if not isinstance(call, dict):
            raise Unusable(f"{where} is {kind(call)}; an object is expected")
        function = call.get("function")
        if function is None and call.get("type", "function") != "function":
            continue  # a custom tool: text in, text out
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise Unusable(f"{where}.function has no name")
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            text = "{}" if arguments is None else to_json_text(arguments)
            fixed = fixed or list(calls)
            fixed[number] = {**call, "function": {**function, "arguments": text}}
    return fixed or calls


def chat_tools(body: JsonObject) -> list[JsonObject]:
    """The tools of a body as ``{"type": "function", "function": {...}}``; raises Unusable."""
    tools = body.get("tools")
    if not tools:
        tools = body.get("functions")  # as the API was before tools
    return tools_of(tools)


def tools_of(tools: object) -> list[JsonObject]:
    """Tool definitions of any of the APIs in the chat shape; raises Unusable."""
    if tools is None:
        return []
    if not isinstance(tools, list):
        raise Unusable(f"tools is {kind(tools)}; a list is expected")
    return [_tool(tool, index) for index, tool in enumerate(tools)]


def _tool(tool: Any, index: int) -> JsonObject:
    if not isinstance(tool, dict):
        raise Unusable(f"tools[{index}] is {kind(tool)}; an object is expected")
    if isinstance(tool.get("function"), dict) or not isinstance(tool.get("name"), str):
        return tool
    if tool.get("type", "function") not in ("function", "custom") and "input_schema" not in tool:
        return tool  # a built-in tool of the provider, which has no schema of its own
    function: JsonObject = {"name": tool["name"]}
    for key, value in tool.items():
        if key == "input_schema":
            function["parameters"] = value
        elif key not in ("name", "type", "cache_control"):
            function[key] = value
    return {"type": "function", "function": function}


def answer_of(response: object) -> JsonObject | None:
    """The assistant message of a chat response, or the text of a completions response."""
    choices = as_object(response).get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    message = choices[0].get("message")
    if isinstance(message, dict):
        try:
            return _chat_message({"role": "assistant", **message}, 0)
        except Unusable:  # the prompt is good all the same
            return None
    text = choices[0].get("text")
    return {"role": "assistant", "content": text} if isinstance(text, str) else None
