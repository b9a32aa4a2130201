"""A recorded request being changed, and the places of its texts."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from keepwarm.diagnose.slots import Range
from keepwarm.trace.catalog import HEAD_ROLES, Row
from keepwarm.trace.records import JsonObject, Request


class Place(NamedTuple):
    """A text of a request: the content of a message, one text part of it, or the rendered prompt."""

    message: int  # -1: the recorded prompt text
    part: int | None = None

    def path(self) -> str:
        """The JSON path of the text."""
        if self.message < 0:
            return "prompt"
        base = f"messages[{self.message}].content"
        return base if self.part is None else f"{base}[{self.part}].text"


class Destination(enum.Enum):
    """Where a text goes that is taken out of its place."""

    NOWHERE = "it is replaced"
    TAIL = "to the end of the prompt"
    FIRST_TURN = "behind the system text, to the top of the first turn, where it stays for the session"


class Cut(NamedTuple):
    """Replace a range of a text; what stood there goes ``to`` another place."""

    range: Range
    replacement: str
    to: Destination


class Draft:
    """A request being changed. Message objects are shared with the catalog: replace, do not mutate."""

    def __init__(self, row: Row, request: Request) -> None:
        self.row = row
        self.messages = list(request.messages)
        self.tools = list(request.tools)
        self.params = dict(request.params)
        self.model = request.model
        self.time_s = request.time_s
        self.prompt_text = request.prompt_text
        self.cuts: dict[Place, list[Cut]] = defaultdict(list)
        self.tail: list[str] = []
        self.end: list[str] = []  # what is moved behind everything, as it is
        self.recorded = request

    def finish(self) -> Request:
        """The changed request, or the very one it came from if nothing changed.

        Recorded token ids are kept only where messages and tools stay as they were.
        """
        self._append_end()
        self._append_tail()
        before = self.recorded
        # By identity: equal dictionaries may differ in key order, which is what some fixes change.
        same = (
            _same_objects(self.messages, before.messages)
            and _same_objects(self.tools, before.tools)
            and self.prompt_text == before.prompt_text
        )
        if same and (self.params, self.model, self.time_s) == (before.params, before.model, before.time_s):
            return before
        return msgspec.structs.replace(
            before,
            messages=self.messages,
            tools=self.tools,
            params=self.params,
            model=self.model,
            time_s=self.time_s,
            prompt_text=self.prompt_text,
            prompt_token_ids=before.prompt_token_ids if same else None,
        )

    def apply_cuts(self) -> None:
        """Carry out the noted cuts of each text, last one first so that ranges stay valid. Mutates."""
        opening = []
        for place, cuts in self.cuts.items():
            text = self.text(place)
            if text is None:
                continue
            ordered = sorted(cuts, key=lambda cut: cut.range)
            taken = [(cut.to, text[cut.range.start : cut.range.end]) for cut in ordered]
            for cut in reversed(ordered):
                text = text[: cut.range.start] + cut.replacement + text[cut.range.end :]
            self.set_text(place, text)
            self.tail += [value for to, value in taken if to is Destination.TAIL and value.strip()]
            opening.append(
                (place, [value for to, value in taken if to is Destination.FIRST_TURN and value.strip()])
            )
        for place, values in opening:  # when no range of a recorded text is needed any more
            self._open_with(place, values)

    def text(self, place: Place) -> str | None:
        """The text at ``place``, if this request has one there."""
        if place.message < 0:
            return self.prompt_text
        if place.message >= len(self.messages):
            return None
        return text_at(self.messages[place.message], place.part)

    def set_text(self, place: Place, text: str) -> None:
        """Put ``text`` at ``place`` in a copy of its message. Mutates the draft only."""
        if place.message < 0:
            self.prompt_text = text
            return
        message = dict(self.messages[place.message])
        if place.part is None:
            message["content"] = text
        else:
            parts = list(message["content"])
            parts[place.part] = {**parts[place.part], "text": text}
            message["content"] = parts
        self.messages[place.message] = message

    def _open_with(self, place: Place, values: Sequence[str]) -> None:
        """Put ``values`` on top of the first turn; those that stood in a turn go to its end."""
        if not values:
            return
        turn = next((i for i, m in enumerate(self.messages) if m.get("role") not in HEAD_ROLES), None)
        stood_in_turn = turn is not None and place.message >= turn
        target = place if stood_in_turn or turn is None else Place(turn)
        text = self.text(target)
        if text is None:
            self.tail += values
        else:
            self.set_text(target, "\n".join([text, *values] if target == place else [*values, text]))

    def _append_end(self) -> None:
        if not self.end:
            return
        end = "".join(self.end)
        if self.prompt_text is not None:
            self.prompt_text += end
        elif self.messages and isinstance(self.messages[-1].get("content"), str):
            last = self.messages[-1]
            self.messages[-1] = {**last, "content": f"{last['content']}{end}"}
        else:
            self.messages.append({"role": "user", "content": end})

    def _append_tail(self) -> None:
        if not self.tail:
            return
        tail = "\n".join(self.tail)
        if self.prompt_text is not None:
            self.prompt_text += tail
        elif self.messages and isinstance(self.messages[-1].get("content"), str):
            last = self.messages[-1]
            self.messages[-1] = {**last, "content": f"{last['content']}\n\n{tail}"}
        else:
            self.messages.append({"role": "user", "content": tail})


def _same_objects(a: Sequence[JsonObject], b: Sequence[JsonObject]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def text_at(message: JsonObject, part: int | None) -> str | None:
    """The text of a message's content, or of one of its text parts."""
    content = message.get("content")
    if part is None:
        return content if isinstance(content, str) else None
    if not isinstance(content, list) or part >= len(content) or not isinstance(content[part], dict):
        return None
    text = content[part].get("text")
    return text if isinstance(text, str) else None
