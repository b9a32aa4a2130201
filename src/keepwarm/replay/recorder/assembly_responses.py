"""The events of a stream of the Responses API, which ends with the whole answer, if it ends well."""

from __future__ import annotations

from collections import defaultdict

from keepwarm.replay.recorder.assembly import error_message
from keepwarm.trace.readers.fields import as_object
from keepwarm.trace.records import JsonObject

_LAST = frozenset(("response.completed", "response.failed", "response.incomplete"))


class ResponsesAssembly:
    """Events with a ``type``. The newest ``response`` counts; of a stream cut off, the items so far."""

    def __init__(self) -> None:
        self.is_complete = False
        self.error: str | None = None
        self._response: JsonObject | None = None
        self._items: dict[int, JsonObject] = {}
        self._pieces: dict[tuple[int, str], list[str]] = defaultdict(list)

    @property
    def is_finished(self) -> bool:
        return self.is_complete

    def add(self, event: JsonObject) -> bool:
        kind = event.get("type")
        if not isinstance(kind, str):
            kind = ""
        if kind == "error" or event.get("error"):
            self.error = error_message(event.get("error") or event)
        response = event.get("response")
        if isinstance(response, dict):
            self._response = response
            if kind == "response.failed":
                self.error = error_message(response.get("error"))
        self.is_complete = self.is_complete or kind in _LAST
        return self._add_piece(kind, event)

    def _add_piece(self, kind: str, event: JsonObject) -> bool:
        index = event.get("output_index")
        if not isinstance(index, int):
            return False
        if kind in ("response.output_item.added", "response.output_item.done"):
            self._items[index] = as_object(event.get("item"))
            if kind.endswith("done"):
                self._pieces = defaultdict(
                    list, {key: piece for key, piece in self._pieces.items() if key[0] != index}
                )
        delta = event.get("delta")
        if not kind.endswith(".delta") or not isinstance(delta, str) or not delta:
            return False
        self._pieces[index, kind].append(delta)
        return True

    def result(self) -> JsonObject | None:
        if self.is_complete or not (self._items or self._pieces):
            return self._response
        indexes = sorted({*self._items, *(index for index, _ in self._pieces)})
        return {**(self._response or {}), "output": [self._item(index) for index in indexes]}

    def _item(self, index: int) -> JsonObject:
        """An item as far as it came."""
        item = dict(self._items.get(index) or {"type": "message", "role": "assistant"})
        text = "".join(self._pieces.get((index, "response.output_text.delta"), ()))
        arguments = "".join(self._pieces.get((index, "response.function_call_arguments.delta"), ()))
        reasoning = "".join(self._pieces.get((index, "response.reasoning_text.delta"), ()))
        if text:
            item["content"] = [{"type": "output_text", "text": text}]
        if arguments:
            item["arguments"] = arguments
        if reasoning:
            item["content"] = [{"type": "reasoning_text", "text": reasoning}]
        return item
