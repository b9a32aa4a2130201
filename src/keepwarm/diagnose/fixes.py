"""What a repair would do to the recorded requests, so that its gain can be simulated.

A fix edits a draft of one request; a plan is a set of fixes applied in a fixed order: texts
first, then whole messages, then the conversation, then tools and parameters. Fixes with a
memory (the conversation as it would have grown) see the requests in recorded order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

import msgspec

from keepwarm.diagnose.callsites import tool_name
from keepwarm.diagnose.edits import Alignment
from keepwarm.diagnose.slots import Range
from keepwarm.trace.catalog import Catalog, ContentId, Row
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


class Cut(NamedTuple):
    """Replace a range of a text; ``to_tail`` says whether what stood there goes to the prompt's end."""

    range: Range
    replacement: str
    to_tail: bool


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
        self._request = request

    def finish(self) -> Request:
        """The changed request, or the very one it came from if nothing changed.

        Recorded token ids are kept only where messages and tools stay as they were.
        """
        self._append_tail()
        before = self._request
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
        """Carry out the cuts, last one first so that ranges stay valid."""
        for place, cuts in self.cuts.items():
            text = self.text(place)
            if text is None:
                continue
            moved = [text[c.range.start : c.range.end] for c in sorted(cuts) if c.to_tail]
            self.tail += [value for value in moved if value.strip()]
            for cut in sorted(cuts, reverse=True):
                text = text[: cut.range.start] + cut.replacement + text[cut.range.end :]
            self.set_text(place, text)

    def text(self, place: Place) -> str | None:
        """The text at ``place``, if this request has one there."""
        if place.message < 0:
            return self.prompt_text
        if place.message >= len(self.messages):
            return None
        return text_at(self.messages[place.message], place.part)

    def set_text(self, place: Place, text: str) -> None:
        """Put ``text`` at ``place`` in a copy of its message."""
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


class Fix(ABC):
    """One change to a draft. ``stage`` orders fixes of a plan; ``rows`` are those it may change."""

    stage: ClassVar[int]

    def __init__(self, rows: Iterable[int]) -> None:
        self.rows = frozenset(rows)

    def reset(self) -> None:  # noqa: B027  most fixes remember nothing
        """Forget earlier requests. Called before a plan runs over a trace."""

    @abstractmethod
    def apply(self, draft: Draft) -> None:
        """Change ``draft`` in place. Never raises; a draft it cannot change is left as it is."""


class CutSlot(Fix):
    """Take a slot out of a stable text, to the prompt's end or in favour of a constant."""

    stage = 0

    def __init__(
        self, place: Place, ranges: Mapping[int, Range], *, constant: str | None, rows: Iterable[int]
    ) -> None:
        super().__init__(rows)
        self.place = place
        self._ranges = ranges  # by row
        self._constant = constant

    def apply(self, draft: Draft) -> None:
        found = self._ranges.get(draft.row.index)
        if found is not None:
            moves = self._constant is None
            draft.cuts[self.place].append(Cut(found, self._constant or "", moves))


class ReplaceContent(Fix):
    """Send messages as they were first sent: one stored message in place of its variants."""

    stage = 1

    def __init__(self, catalog: Catalog, first: Mapping[ContentId, ContentId], rows: Iterable[int]) -> None:
        super().__init__(rows)
        self._catalog = catalog
        self._first = first

    def apply(self, draft: Draft) -> None:
        for i, content in enumerate(draft.row.messages):
            if content in self._first and draft.messages[i] is self._catalog.message(content):
                draft.messages[i] = self._catalog.message(self._first[content])


class OrderMessages(Fix):
    """Put the same messages of each request into one order: that of their first appearance."""

    stage = 2

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

    stage = 3

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
            if i == j and messages[earlier_where[i]].get("role") in ("system", "developer"):
                messages[earlier_where[i]] = draft.messages[j]  # heads are compared over the site
        said = "\n".join(str(message.get("content")) for message in messages)
        for j in alignment.added:
            where[j] = len(messages)
            messages.append(self._without_moved(draft.messages[j], said))
        return messages, where

    def _without_moved(self, message: JsonObject, said: str) -> JsonObject:
        content = message.get("content")
        if not isinstance(content, str):
            return message
        for text in self._moved:
            if text in content and text in said:
                content = content.replace(text, "")
        return message if content == message["content"] else {**message, "content": content}


class ReplaceTools(Fix):
    """Send tool definitions as they were first written."""

    stage = 4

    def __init__(self, tools: Mapping[ContentId, JsonObject], rows: Iterable[int]) -> None:
        super().__init__(rows)
        self._tools = tools

    def apply(self, draft: Draft) -> None:
        for i, content in enumerate(draft.row.tools):
            if content in self._tools:
                draft.tools[i] = self._tools[content]


class AddTools(Fix):
    """Offer tools from the start that are otherwise toggled: missing ones per row."""

    stage = 5

    def __init__(self, missing: Mapping[int, Sequence[JsonObject]], rows: Iterable[int]) -> None:
        super().__init__(rows)
        self._missing = missing

    def apply(self, draft: Draft) -> None:
        draft.tools += self._missing.get(draft.row.index, ())


class OrderTools(Fix):
    """Send tools in one order: that of their first appearance, by name."""

    stage = 6

    def __init__(self, ranks: Mapping[str, int], rows: Iterable[int]) -> None:
        super().__init__(rows)
        self._ranks = ranks

    def apply(self, draft: Draft) -> None:
        draft.tools.sort(key=lambda tool: self._ranks.get(tool_name(tool), len(self._ranks)))


class DropParam(Fix):
    """Leave a body parameter out."""

    stage = 7

    def __init__(self, name: str, rows: Iterable[int]) -> None:
        super().__init__(rows)
        self.name = name

    def apply(self, draft: Draft) -> None:
        draft.params.pop(self.name, None)


class SetModel(Fix):
    """Stay with one model: given per row."""

    stage = 7

    def __init__(self, models: Mapping[int, str]) -> None:
        super().__init__(models)
        self._models = models

    def apply(self, draft: Draft) -> None:
        draft.model = self._models[draft.row.index]


class FreezeClock(Fix):
    """Let the chat template see one time for all requests."""

    stage = 7

    def __init__(self, time_s: float | None, rows: Iterable[int]) -> None:
        super().__init__(rows)
        self._time_s = time_s

    def apply(self, draft: Draft) -> None:
        draft.time_s = self._time_s


def apply_fixes(fixes: Sequence[Fix], row: Row, request: Request) -> Request:
    """The request after ``fixes``, in stage order. Call in recorded order, after ``reset`` of each."""
    draft = Draft(row, request)
    ordered = sorted((fix for fix in fixes if row.index in fix.rows), key=lambda fix: fix.stage)
    for fix in ordered:
        if fix.stage == 0:
            fix.apply(draft)
    draft.apply_cuts()
    for fix in ordered:
        if fix.stage > 0:
            fix.apply(draft)
    return draft.finish()


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
