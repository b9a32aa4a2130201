"""Everything the rules look at for one call site, worked out once."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from keepwarm.diagnose.callsites import Site
from keepwarm.diagnose.changes import Change, explain
from keepwarm.diagnose.edits import Alignment, align
from keepwarm.diagnose.fixes import Place, text_at
from keepwarm.diagnose.measured import Measured
from keepwarm.diagnose.sessions import Lineage
from keepwarm.diagnose.slot_types import Seen, SlotType, classify
from keepwarm.diagnose.slots import Range, Slot, find_slots
from keepwarm.diagnose.tool_lists import ToolChanges, tool_changes
from keepwarm.diagnose.traffic import Traffic
from keepwarm.trace.catalog import Catalog, Row

_LEADING_MESSAGES = 4
_MAX_PARTS = 8
_CONTEXT_CHARS = 24


class TypedSlot(msgspec.Struct, frozen=True, kw_only=True):
    """A slot of a stable text with its type; ``ranges`` and ``values`` by row."""

    place: Place
    slot: Slot
    type: SlotType
    confidence: float
    ranges: Mapping[int, Range]
    values: Mapping[int, str]
    stable_line: str


class SiteView:
    """One call site. Properties are computed on first use and stay valid: traffic does not change."""

    def __init__(self, traffic: Traffic, site: Site, lineage: Lineage, measured: Measured) -> None:
        self.traffic = traffic
        self.measured = measured
        self.catalog: Catalog = traffic.catalog
        self.site = site
        self.lineage = lineage
        self.rows: list[Row] = [self.catalog.rows[i] for i in site.rows]
        self.sessions: Sequence[str] = lineage.sessions

    @functools.cached_property
    def parents(self) -> dict[int, int | None]:
        """The request that each one continues, within session and site."""
        return {row.index: self.lineage.parents[row.index] for row in self.rows}

    @functools.cached_property
    def alignments(self) -> dict[int, tuple[int, Alignment]]:
        """Row -> (parent row, alignment with it), for rows that have a parent and messages."""
        out = {}
        for row in self.rows:
            parent = self.parents[row.index]
            if parent is not None and row.messages and self.catalog.rows[parent].messages:
                out[row.index] = (parent, align(self.catalog, self.catalog.rows[parent], row))
        return out

    @functools.cached_property
    def changes(self) -> tuple[Change, ...]:
        """Explained edits of earlier messages, in row order."""
        return tuple(
            change
            for _, alignment in self.alignments.values()
            for edit in alignment.edits
            for change in explain(self.catalog, edit)
        )

    @functools.cached_property
    def tools(self) -> ToolChanges:
        """How the tool lists differ."""
        return tool_changes(self.catalog, self.rows, self.parents, self.sessions)

    @functools.cached_property
    def has_sessions(self) -> bool:
        """Whether any session has more than one request here."""
        return any(count > 1 for count in Counter(self.sessions[row.index] for row in self.rows).values())

    @functools.cached_property
    def slots(self) -> tuple[TypedSlot, ...]:
        """Slots of the leading messages (or of the recorded prompt text), in prompt order."""
        return tuple(slot for place in self._places() for slot in self._slots_at(place))

    def _places(self) -> list[Place]:
        if any(row.prompt_text is not None for row in self.rows):
            return [Place(-1)]
        places: dict[Place, None] = {}
        for i in range(_LEADING_MESSAGES):
            for row in self.rows:
                if i >= len(row.messages):
                    continue
                content = self.catalog.message(row.messages[i]).get("content")
                if isinstance(content, list):
                    places.update({Place(i, j): None for j in range(min(len(content), _MAX_PARTS))})
                else:
                    places[Place(i)] = None
        return sorted(places, key=lambda place: (place.message, -1 if place.part is None else place.part))

    def _slots_at(self, place: Place) -> list[TypedSlot]:
        by_text: dict[str, list[int]] = defaultdict(list)
        for row in self.rows:
            text = self._text(row, place)
            if text:
                by_text[text].append(row.index)
        texts = list(by_text)
        return [self._typed(place, slot, texts, by_text) for slot in find_slots(texts)]

    def _text(self, row: Row, place: Place) -> str | None:
        if place.message < 0:
            return None if row.prompt_text is None else str(self.catalog.store.get(row.prompt_text))
        if place.message >= len(row.messages):
            return None
        message = self.catalog.message(row.messages[place.message])
        if message.get("role") in ("assistant", "tool"):
            return None  # answers and tool results vary by nature
        return text_at(message, place.part)

    def _typed(
        self, place: Place, slot: Slot, texts: Sequence[str], by_text: Mapping[str, Sequence[int]]
    ) -> TypedSlot:
        ranges: dict[int, Range] = {}
        seen: dict[int, Seen] = {}
        for text, found in zip(texts, slot.ranges, strict=True):
            value = text[found.start : found.end]
            context = text[max(0, found.start - _CONTEXT_CHARS) : found.end + _CONTEXT_CHARS]
            for index in by_text[text]:
                ranges[index] = found
                seen[index] = Seen(value, context, self.sessions[index], self.catalog.rows[index].time_s)
        order = sorted(seen)
        slot_type, confidence = classify([seen[i] for i in order])
        return TypedSlot(
            place=place,
            slot=slot,
            type=slot_type,
            confidence=confidence,
            ranges={i: ranges[i] for i in order},
            values={i: seen[i].value for i in order},
            stable_line=slot.before.rpartition("\n")[2],
        )
