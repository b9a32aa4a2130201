"""The events of a stream put together to what the server would have answered without streaming."""

from __future__ import annotations

from typing import Any, Protocol

from keepwarm.trace.readers.fields import as_list, as_object
from keepwarm.trace.records import JsonObject


class Assembly(Protocol):
    """One stream of one API."""

    @property
    def is_complete(self) -> bool:
        """Whether the event that ends a stream of this API came."""

    @property
    def is_finished(self) -> bool:
        """Whether the answer has its end, though that event may be missing."""

    @property
    def error(self) -> str | None:
        """What the server says went wrong, in an event of the stream."""

    def add(self, event: JsonObject) -> bool:
        """Take the next event; whether it carries something the model generated. Mutates, never raises."""

    def result(self) -> JsonObject | None:
        """The answer so far; ``None`` if no event came. Changes nothing."""


class ChoicesAssembly:
    """Chunks of chat.completions and of completions."""

    is_complete = False  # only ``[DONE]`` says so, which is no event

    def __init__(self) -> None:
        self.is_finished = False
        self.error: str | None = None
        self._head: JsonObject = {}
        self._choices = _ByIndex()

    def add(self, event: JsonObject) -> bool:
        if event.get("error"):
            self.error = error_message(event["error"])
        for key, value in event.items():
            if key != "choices" and (value is not None or key not in self._head):
                self._head[key] = value
        choices = [choice for choice in as_list(event.get("choices")) if isinstance(choice, dict)]
        for choice in choices:
            delta = choice.get("delta")
            self.is_finished |= choice.get("finish_reason") is not None
            named = {key: value for key, value in choice.items() if key != "delta"}
            self._choices.merge(named if delta is None else {**named, "message": delta})
        return any(_is_generated(choice) for choice in choices)

    def result(self) -> JsonObject | None:
        if not self._head and not self._choices:
            return None
        answer = dict(self._head)
        if isinstance(answer.get("object"), str):
            answer["object"] = answer["object"].removesuffix(".chunk")
        answer["choices"] = [_answered(choice) for choice in self._choices.finished()]
        return answer


def _is_generated(choice: JsonObject) -> bool:
    delta = as_object(choice.get("delta"))
    return bool(choice.get("text")) or any(value for key, value in delta.items() if key != "role")


def _answered(choice: JsonObject) -> JsonObject:
    """A choice as an answer has it: calls of tools are told apart by their order, not by an index."""
    for call in as_list(as_object(choice.get("message")).get("tool_calls")):
        if isinstance(call, dict):
            call.pop("index", None)
    return choice


def error_message(error: object) -> str:
    """What an error of the OpenAI APIs says."""
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else "an error without a message"


_REPLACED = frozenset(("role", "id", "type", "object", "finish_reason", "stop_reason"))


class _Text(list[str]):
    """A text that grows: joined once, at the end."""


class _ByIndex(dict[int, JsonObject]):
    """Objects that come in pieces, each piece with the index of its object."""

    def merge(self, piece: JsonObject) -> None:
        index = piece.get("index")
        _merge(self.setdefault(index if isinstance(index, int) else len(self), {}), piece)

    def finished(self) -> list[JsonObject]:
        return [_finished(self[index]) for index in sorted(self)]


def _merge(target: JsonObject, piece: JsonObject) -> None:
    """Add a piece to what came before: texts and lists grow, other values replace the earlier one."""
    for key, value in piece.items():
        if isinstance(value, str) and key not in _REPLACED:
            _grow(target, key, value)
        elif isinstance(value, dict):
            if not isinstance(target.get(key), dict):
                target[key] = {}
            _merge(target[key], value)
        elif isinstance(value, list):
            _extend(target, key, value)
        elif value is not None or key not in target:
            target[key] = value


def _grow(target: JsonObject, key: str, value: str) -> None:
    text = target.get(key)
    if not isinstance(text, _Text):
        target[key] = _Text((value,))
    elif key != "name" or "".join(text) != value:  # some servers repeat a tool's name in every piece
        text.append(value)


def _extend(target: JsonObject, key: str, values: list[Any]) -> None:
    indexed = bool(values) and isinstance(values[0], dict) and isinstance(values[0].get("index"), int)
    wanted = _ByIndex if indexed else list
    if not isinstance(target.get(key), (_ByIndex, list)) or isinstance(target.get(key), _Text):
        target[key] = wanted()
    held = target[key]
    for value in values:
        if isinstance(held, _ByIndex):
            held.merge(as_object(value))
        else:
            held.append(value)


def _finished(value: Any) -> Any:
    if isinstance(value, _Text):
        return "".join(value)
    if isinstance(value, _ByIndex):
        return value.finished()
    if isinstance(value, dict):
        return {key: _finished(item) for key, item in value.items()}
    return value
