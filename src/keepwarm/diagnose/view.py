"""Everything the rules look at for one call site, worked out once."""

from __future__ import annotations

import functools
import itertools
import zlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from keepwarm.diagnose.callsites import Site
from keepwarm.diagnose.changes import Change, ChangeKind, explain
from keepwarm.diagnose.edits import Alignment, align
from keepwarm.diagnose.fixes import Place, text_at
from keepwarm.diagnose.measured import Measured
from keepwarm.diagnose.sessions import Lineage
from keepwarm.diagnose.slot_types import classify, is_release
from keepwarm.diagnose.slots import Range, Skeleton, WholeText, learn_skeleton, pick_variants
from keepwarm.diagnose.tool_lists import ToolChanges, tool_changes
from keepwarm.diagnose.traffic import Traffic
from keepwarm.diagnose.values import Seen, SlotType
from keepwarm.trace.catalog import Catalog, ContentId, Row

_LEADING_MESSAGES = 4
_MAX_PARTS = 8
_CONTEXT_CHARS = 24
_MESSAGES_PLACED = 64
_OF_SLOTS = (ChangeKind.VALUE, ChangeKind.REWRITTEN)
_VALUES_KEPT = 2_000
_VALUE_CHARS = 20_000


class TypedSlot(msgspec.Struct, frozen=True, kw_only=True):
    """A slot of a stable text with its type, and stable text around it.

    ``ranges`` by row. ``values`` are those of the first rows only, and cut where they are very
    long; ``varying`` are the rows whose value is not that of the row before.
    """

    place: Place
    before: str
    after: str
    type: SlotType
    confidence: float
    ranges: Mapping[int, Range]
    first_value: str
    values: Mapping[int, str]
    varying: tuple[int, ...]


class SlotValues:
    """Gathers the values of one slot, in memory that does not grow with their length."""

    def __init__(self) -> None:
        self.ranges: dict[int, Range] = {}
        self.first_value = ""
        self._seen: dict[int, Seen] = {}
        self._digests: dict[int, int] = {}

    def add(self, index: int, text: str, found: Range, session: str, time_s: float | None) -> None:
        """Note the value of one row. Mutates."""
        value = text[found.start : found.end]
        if not self.ranges:
            self.first_value = value
        self.ranges[index] = found
        self._digests[index] = zlib.crc32(value.encode("utf-8", "surrogatepass"))
        if len(self._seen) < _VALUES_KEPT:
            context = text[max(0, found.start - _CONTEXT_CHARS) : found.end + _CONTEXT_CHARS]
            self._seen[index] = Seen(value[:_VALUE_CHARS], context[:_VALUE_CHARS], session, time_s)

    def seen(self) -> list[Seen]:
        """The values kept, in request order."""
        return [self._seen[index] for index in sorted(self._seen)]

    def values(self) -> dict[int, str]:
        """The values kept, by row in request order."""
        return {index: self._seen[index].value for index in sorted(self._seen)}

    def varying(self) -> tuple[int, ...]:
        """Rows whose value is not that of the row before."""
        order = sorted(self._digests)
        return tuple(b for a, b in itertools.pairwise(order) if self._digests[a] != self._digests[b])


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
        """Explained edits of earlier messages, in row order. What nearly every request edits is a slot."""
        found = [
            change
            for _, alignment in self.alignments.values()
            for edit in alignment.edits
            for change in explain(self.catalog, edit)
        ]
        edited = Counter(change.path for change in found if change.kind in _OF_SLOTS)
        slots = {
            slot.place.path() for slot in self.slots if 2 * edited[slot.place.path()] > len(self.alignments)
        }
        return tuple(change for change in found if change.kind not in _OF_SLOTS or change.path not in slots)

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
        """Slots of one place. Texts are read one at a time: a trace may have as many as requests."""
        rows_of: dict[tuple[ContentId, ...], list[int]] = defaultdict(list)
        for row in self.rows:
            key = self._content(row, place)
            if key is not None:
                rows_of[key].append(row.index)
        contents = list(rows_of)
        skeleton = self._skeleton([rows_of[contents[i]][0] for i in pick_variants(len(contents))], place)
        if skeleton is None or self._wanders(contents, place):
            return []
        found = [SlotValues() for _ in skeleton.holes]
        for key in contents:
            text = self._text(rows_of[key][0], place)
            if not text:
                continue
            for values, own in zip(found, skeleton.ranges(text), strict=True):
                for index in rows_of[key]:
                    row = self.catalog.rows[index]
                    values.add(index, text, own, self.sessions[index], row.time_s)
        typed = [self._typed(place, skeleton, n, values) for n, values in enumerate(found)]
        return [
            slot
            for slot, values in zip(typed, found, strict=True)
            if slot.type not in (SlotType.IDENTITY, SlotType.PASSAGE) or not is_release(values.seen())
        ]

    def _skeleton(self, picked: Sequence[int], place: Place) -> Skeleton | None:
        """What the texts of some rows share; a text that varies as a whole is a slot of the prompt."""
        texts = list(dict.fromkeys(text for index in picked if (text := self._text(index, place))))
        skeleton = learn_skeleton(texts)
        if skeleton is None and len(texts) > 1 and self._stable_behind(picked, place):
            return WholeText(texts[0])
        return skeleton if skeleton is not None and skeleton.holes else None

    def _stable_behind(self, picked: Sequence[int], place: Place) -> bool:
        """Whether an application's own text follows in the next part or message, much the same each time."""
        after = Place(place.message + 1) if place.part is None else Place(place.message, place.part + 1)
        texts = [
            self._text(index, after)
            for index in picked
            if 0 < after.message < len(self.catalog.rows[index].messages) or after.part is not None
        ]
        found = list(dict.fromkeys(text for text in texts if text))
        return bool(found) and (2 * len(found) <= len(picked) or learn_skeleton(found) is not None)

    def _wanders(self, contents: Sequence[tuple[ContentId, ...]], place: Place) -> bool:
        """Whether the messages at this place stand elsewhere in other requests: shuffled, or cut history."""
        if place.message < 0:
            return False
        moving = sum(len(self._indices[message]) > 1 for (message,) in contents)
        return 2 * moving > len(contents)

    @functools.cached_property
    def _indices(self) -> Mapping[ContentId, set[int]]:
        """Where the messages of the site stand in their requests."""
        found: dict[ContentId, set[int]] = defaultdict(set)
        for row in self.rows:
            for i, content in enumerate(row.messages[:_MESSAGES_PLACED]):
                found[content].add(i)
        return found

    def _content(self, row: Row, place: Place) -> tuple[ContentId, ...] | None:
        """What identifies the text at ``place``: the stored message, or the stored prompt."""
        if place.message < 0:
            return None if row.prompt_text is None else (row.prompt_text,)
        return (row.messages[place.message],) if place.message < len(row.messages) else None

    def _text(self, index: int, place: Place) -> str | None:
        row = self.catalog.rows[index]
        if place.message < 0:
            return None if row.prompt_text is None else str(self.catalog.store.get(row.prompt_text))
        message = self.catalog.message(row.messages[place.message])
        if message.get("role") in ("assistant", "tool"):
            return None  # answers and tool results vary by nature
        return text_at(message, place.part)

    def _typed(self, place: Place, skeleton: Skeleton, n: int, values: SlotValues) -> TypedSlot:
        slot_type, confidence = classify(values.seen())
        return TypedSlot(
            place=place,
            before=skeleton.before(n),
            after=skeleton.after(n),
            type=slot_type,
            confidence=confidence,
            ranges=values.ranges,
            first_value=values.first_value,
            values=values.values(),
            varying=values.varying(),
        )
