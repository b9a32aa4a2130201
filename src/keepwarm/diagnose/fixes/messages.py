"""Fixes of texts and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from keepwarm.diagnose.edits import Alignment
from keepwarm.diagnose.fixes.base import Fix, Stage
from keepwarm.diagnose.fixes.draft import Cut, Destination, Draft, Place
from keepwarm.diagnose.slots import Range
from keepwarm.trace.catalog import HEAD_ROLES, Catalog, message_text
from keepwarm.trace.contents import ContentId
from keepwarm.trace.records import JsonObject


class CutSlot(Fix):
    """Take a slot out of a stable text: ``to`` another place, or in favour of a ``constant``."""

    stage = Stage.SLOTS

    def __init__(
        self,
        place: Place,
        ranges: Mapping[int, Range],
        *,
        rows: Iterable[int],
        constant: str | None = None,
        to: Destination = Destination.TAIL,
    ) -> None:
        super().__init__(rows)
        self.place = place
        self.ranges = ranges  # by row
        self._constant = constant
        self._to = to if constant is None else Destination.NOWHERE

    def apply(self, draft: Draft) -> None:
        found = self.ranges.get(draft.row.index)
        if found is not None:
            draft.cuts[self.place].append(Cut(found, self._constant or "", self._to))


class Spot(NamedTuple):
    """Where a text is put: in the text at ``place``, in front of the character ``chars`` (by row) names."""

    place: Place
    chars: Mapping[int, int]


class MoveSlot(Fix):
    """Take a slot out of its text and put it as it is at another spot; ``None``: the end of the prompt.

    No character is lost or added: what stood around the slot closes up.
    """

    stage = Stage.SLOTS

    def __init__(self, place: Place, ranges: Mapping[int, Range], to: Spot | None) -> None:
        super().__init__(ranges)
        self.place = place
        self._ranges = ranges  # by row
        self._to = to

    def apply(self, draft: Draft) -> None:
        found, text = self._ranges.get(draft.row.index), draft.text(self.place)
        if found is None or text is None or not text[found.start : found.end]:
            return
        value = text[found.start : found.end]
        if self._to is None:
            draft.end.append(value)
        else:
            char = self._to.chars.get(draft.row.index)
            if char is None or draft.text(self._to.place) is None or self._stays(found, char):
                return
            draft.cuts[self._to.place].append(Cut(Range(char, char), value, Destination.NOWHERE))
        draft.cuts[self.place].append(Cut(found, "", Destination.NOWHERE))

    def _stays(self, found: Range, char: int) -> bool:
        """Whether it is there already: then nothing is touched, recorded tokens stay valid."""
        return self._to is not None and self._to.place == self.place and found.start <= char <= found.end


class ReplaceContent(Fix):
    """Send messages as they were first sent: one stored message in place of its variants."""

    stage = Stage.CONTENT

    def __init__(self, catalog: Catalog, first: Mapping[ContentId, ContentId], rows: Iterable[int]) -> None:
        super().__init__(rows)
        self._catalog = catalog
        self._first = first

    def apply(self, draft: Draft) -> None:
        for i, content in enumerate(draft.row.messages):
            if content in self._first and draft.messages[i] is self._catalog.message(content):
                draft.messages[i] = self._catalog.message(self._first[content])


class ReplaceParts(Fix):
    """Send parts of messages, say pictures, as they were first sent; the text around them stays."""

    stage = Stage.CONTENT

    def __init__(self, parts: Mapping[int, Mapping[Place, JsonObject]]) -> None:
        super().__init__(parts)
        self._parts = parts  # by row

    def apply(self, draft: Draft) -> None:
        for place, part in self._parts[draft.row.index].items():
            content = draft.messages[place.message].get("content")
            if isinstance(content, list) and place.part is not None and place.part < len(content):
                parts = [*content[: place.part], part, *content[place.part + 1 :]]
                draft.messages[place.message] = {**draft.messages[place.message], "content": parts}


class OrderMessages(Fix):
    """Put the same messages of each request into one order: that of their first appearance."""

    stage = Stage.MESSAGE_ORDER

    def __init__(self, ranks: Mapping[ContentId, int], units: Mapping[int, Sequence[Sequence[int]]]) -> None:
        super().__init__(units)
        self._ranks = ranks
        self._units = units  # per row: groups of message indices that move together

    def apply(self, draft: Draft) -> None:
        units = self._units[draft.row.index]
        places = [i for unit in units for i in unit]
        ranked = sorted(units, key=lambda unit: self._ranks[draft.row.messages[unit[0]]])
        wanted = [draft.messages[i] for unit in ranked for i in unit]
        for place, message in zip(places, wanted, strict=True):
            draft.messages[place] = message


class KeepHistory(Fix):
    """Let conversations only grow: what was sent stays as it was sent, new messages follow.

    ``moved`` names text that a request repeats at a later place: it stays where it was first.
    """

    stage = Stage.HISTORY

    def __init__(
        self, alignments: Mapping[int, tuple[int, Alignment]], moved: Sequence[str], rows: Iterable[int]
    ) -> None:
        super().__init__(rows)
        self._alignments = alignments  # row -> (parent row, alignment)
        self._moved = sorted(moved, key=len, reverse=True)
        self._grown: dict[int, tuple[list[JsonObject], dict[int, int]]] = {}

    def reset(self) -> None:
        self._grown.clear()

    def apply(self, draft: Draft) -> None:
        messages, where = self._grow(draft)
        self._grown[draft.row.index] = (messages, where)
        draft.messages = list(messages)

    def _grow(self, draft: Draft) -> tuple[list[JsonObject], dict[int, int]]:
        """The conversation as it would be, and where each message of the recorded one stands in it."""
        parent, alignment = self._alignments.get(draft.row.index, (-1, None))
        if alignment is None or parent not in self._grown:
            return list(draft.messages), {i: i for i in range(len(draft.messages))}
        earlier, earlier_where = self._grown[parent]
        pairs = [(i, j) for i, j in alignment.pairs if i in earlier_where]
        kept = max((earlier_where[i] for i, _ in pairs), default=-1) + 1
        messages = earlier[:kept]
        where = {j: earlier_where[i] for i, j in pairs}
        for i, j in pairs:
            if i == j == earlier_where[i] and messages[i].get("role") in HEAD_ROLES:
                messages[i] = draft.messages[j]  # heads are compared over the site
        said = "\n".join(message_text(message) for message in messages)
        for j in alignment.added:
            where[j] = len(messages)
            messages.append(self._without_moved(draft.messages[j], said))
        return messages, where

    def _without_moved(self, message: JsonObject, said: str) -> JsonObject:
        content = message.get("content")
        if not isinstance(content, list):
            return self._shortened(message, "content", said)
        parts = [self._shortened(part, "text", said) if isinstance(part, dict) else part for part in content]
        same = all(a is b for a, b in zip(parts, content, strict=True))
        return message if same else {**message, "content": parts}

    def _shortened(self, holder: JsonObject, key: str, said: str) -> JsonObject:
        """``holder`` without the moved texts that were said before."""
        before = text = holder.get(key)
        if not isinstance(text, str):
            return holder
        for moved in self._moved:
            if moved in text and moved in said:
                text = text.replace(moved, "")
        return holder if text == before else {**holder, key: text}
