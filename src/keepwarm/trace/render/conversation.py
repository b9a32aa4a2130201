"""What a server hands to the chat template, made from a recorded request.

The rules are vLLM's: tool-call arguments are decoded from JSON (what does not decode becomes an
empty object), a missing content is empty, text parts are joined by line feeds unless the template
walks over the parts itself, ``reasoning`` and ``reasoning_content`` are the same thing, an empty
list of tool calls is left out. Members that vLLM would drop are kept.
"""

from __future__ import annotations

from typing import Any

from keepwarm._errors import TemplateError
from keepwarm._json import parsed
from keepwarm.trace.prompt import Origin
from keepwarm.trace.records import Request
from keepwarm.trace.render.media import placeholder
from keepwarm.trace.render.runs import Leaf
from keepwarm.trace.render.traced import join
from keepwarm.trace.render.values import Wrapper

_TEXT_PARTS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
    "thinking": "thinking",
}


class Conversation:
    """Builds the messages of one request.

    ``parts`` keeps content as a list of parts, for templates that walk over it; ``decode_arguments``
    gives tool-call arguments as objects. Raises ``TemplateError`` for a body of the wrong shape.
    """

    def __init__(self, wrap: Wrapper, *, parts: bool, decode_arguments: bool) -> None:
        self._wrap = wrap
        self._parts = parts
        self._decode_arguments = decode_arguments
        self.has_decoded = False

    def messages(self, request: Request) -> list[Any]:
        """All messages, wrapped."""
        return [self._message(message, i, request) for i, message in enumerate(request.messages)]

    def _message(self, message: Any, index: int, request: Request) -> Any:
        path = f"messages[{index}]"
        if not isinstance(message, dict):
            raise TemplateError(
                f"request {request.id!r} (line {request.line}): {path} is {type(message).__name__}, "
                "not an object; leave this record out or repair it"
            )
        role = message.get("role")
        origin = Origin.MODEL if role == "assistant" else Origin.APP
        fields: dict[str, Any] = {}
        for key, value in message.items():
            if key == "tool_calls":
                if isinstance(value, list) and value:
                    fields[key] = self._tool_calls(value, f"{path}.{key}", origin)
            elif key == "reasoning" or key == "reasoning_content":
                self._reasoning(fields, key, value, path, origin)
            elif key == "content":
                fields[key] = self._content(value, f"{path}.{key}", origin, role)
            elif isinstance(value, str):
                fields[key] = self._wrap.text(value, f"{path}.{key}", origin)
            else:
                fields[key] = self._wrap.tree(value, f"{path}.{key}", origin)
        if "content" not in fields:
            fields["content"] = self._content(None, f"{path}.content", origin, role)
        return self._wrap.record(fields, path, origin)

    def _reasoning(self, fields: dict[str, Any], key: str, value: Any, path: str, origin: Origin) -> None:
        if value is None or (key == "reasoning_content" and "reasoning" in fields):
            return
        wrapped = self._wrap.tree(value, f"{path}.{key}", origin)
        fields["reasoning"] = fields["reasoning_content"] = wrapped

    def _content(self, content: Any, path: str, origin: Origin, role: Any) -> Any:
        walked = self._parts and role != "tool"
        if content is None:
            return [] if walked else ""
        if isinstance(content, str):
            text = self._wrap.text(content, path, origin)
            return [{"type": "text", "text": text}] if walked else text
        parts = content if isinstance(content, list) else [content]
        paths = [f"{path}[{i}]" for i in range(len(parts))] if isinstance(content, list) else [path]
        pieces: list[Any] = []
        for part, where in zip(parts, paths, strict=True):
            pieces += self._part(part, where, origin)
        if walked:
            return pieces
        texts = [piece["text"] for piece in pieces if piece["type"] == "text"]
        return "\n".join(texts) if self._wrap.plain else join("\n", texts)

    def _part(self, part: Any, path: str, origin: Origin) -> list[Any]:
        """One part as the template sees it: a text, or a medium followed by its stand-in text."""
        if isinstance(part, str):
            return [{"type": "text", "text": self._wrap.text(part, path, origin)}]
        if isinstance(part, dict):
            kind = part.get("type")
            name = _TEXT_PARTS.get(kind, "text") if isinstance(kind, str) else "text"
            text = part.get(name)
            if isinstance(text, str):
                return [{"type": "text", "text": self._wrap.text(text, f"{path}.{name}", origin)}]
            if kind in _TEXT_PARTS:
                return []
        medium = placeholder(part, path)
        stand_in = self._wrap.code(medium.text, medium.path, origin)
        return [{"type": medium.modality}, {"type": "text", "text": stand_in}]

    def _tool_calls(self, calls: list[Any], path: str, origin: Origin) -> Any:
        found: list[Any] = []
        for i, call in enumerate(calls):
            where = f"{path}[{i}]"
            function = call.get("function") if isinstance(call, dict) else None
            if not isinstance(function, dict):
                found.append(self._wrap.tree(call, where, origin))
                continue
            fields = {
                key: self._function(function, f"{where}.{key}", origin)
                if key == "function"
                else self._wrap.tree(value, f"{where}.{key}", origin)
                for key, value in call.items()
            }
            found.append(self._wrap.record(fields, where, origin))
        return self._wrap.records(found, path, origin)

    def _function(self, function: dict[str, Any], path: str, origin: Origin) -> Any:
        fields: dict[str, Any] = {}
        for key, value in function.items():
            if key == "arguments" and self._decode_arguments:
                fields[key] = self._arguments(value, f"{path}.{key}", origin)
            else:
                fields[key] = self._wrap.tree(value, f"{path}.{key}", origin)
        return self._wrap.record(fields, path, origin)

    def _arguments(self, arguments: Any, path: str, origin: Origin) -> Any:
        if isinstance(arguments, dict | list):
            return self._wrap.tree(arguments, path, origin)
        self.has_decoded = True
        try:
            value = parsed(arguments) if isinstance(arguments, str) else {}
        except ValueError:
            value = {}
        return self._wrap.decoded(value, Leaf(origin, path, None))
