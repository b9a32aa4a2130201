"""The slots of a call site: where its leading texts vary, what each request has there, and of what type."""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from keepwarm.diagnose.fixes import Place, text_at
from keepwarm.diagnose.slot_types import classify, is_release
from keepwarm.diagnose.slots import Range, Skeleton, WholeText, learn_skeleton, pick_variants
from keepwarm.diagnose.values import Kind, Seen, SlotType, seen_at
from keepwarm.trace.catalog import Catalog, Row
from keepwarm.trace.contents import ContentId

LEADING_MESSAGES = 4
"""What an application puts in front; behind it a conversation varies by nature."""

_MAX_PARTS = 8
_MESSAGES_PLACED = 64  # how far in a request a message is looked for
# What is kept of a slot, so that its type can be told in bounded memory.
_VALUES_KEPT = 2_000
_VALUE_CHARS = 20_000


class TypedSlot(msgspec.Struct, frozen=True, kw_only=True):
    """A slot of a stable text with its type, and stable text around it.

    ``ranges`` by row. ``values`` are those of the first rows only, and cut where they are very
    long; ``varying`` are the rows whose value is not that of the row before, ``distinct`` counts all values.
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
    distinct: int


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
        self._digests[index] = hash(value)  # of 64 bits; only compared with each other
        if len(self._seen) < _VALUES_KEPT:
            seen = seen_at(text, found.start, found.end, session, time_s)
            self._seen[index] = seen._replace(value=value[:_VALUE_CHARS], context=seen.context[:_VALUE_CHARS])

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

    def distinct(self) -> int:
        """How many different values there are."""
        return len(set(self._digests.values()))


class SlotFinder:
    """Looks for slots in the leading messages of one call site, or in its recorded prompt texts."""

    def __init__(self, catalog: Catalog, rows: Sequence[Row], sessions: Sequence[str]) -> None:
        self._catalog = catalog
        self._rows = rows
        self._sessions = sessions  # of every request of the catalog

    def slots(self) -> tuple[TypedSlot, ...]:
        """The slots in prompt order. Does not mutate; reads every text, so ask once."""
        return tuple(slot for place in self._places() for slot in self._slots_at(place))

    def _places(self) -> list[Place]:
        if any(row.prompt_text is not None for row in self._rows):
            return [Place(-1)]
        places: dict[Place, None] = {}
        for i in range(LEADING_MESSAGES):
            for row in self._rows:
                if i >= len(row.messages):
                    continue
                content = self._catalog.message(row.messages[i]).get("content")
                if isinstance(content, list):
                    places.update({Place(i, j): None for j in range(min(len(content), _MAX_PARTS))})
                else:
                    places[Place(i)] = None
        return sorted(places, key=lambda place: (place.message, -1 if place.part is None else place.part))

    def _slots_at(self, place: Place) -> list[TypedSlot]:
        """Slots of one place. Texts are read one at a time: a trace may have as many as requests."""
        rows_of: dict[tuple[ContentId, ...], list[int]] = defaultdict(list)
        for row in self._rows:
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
                    row = self._catalog.rows[index]
                    values.add(index, text, own, self._sessions[index], row.time_s)
        kinds = skeleton.in_records([classify(values.seen()) for values in found])
        typed = [_typed_slot(place, skeleton, n, values, kinds[n]) for n, values in enumerate(found)]
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
            if 0 < after.message < len(self._catalog.rows[index].messages) or after.part is not None
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
        for row in self._rows:
            for i, content in enumerate(row.messages[:_MESSAGES_PLACED]):
                found[content].add(i)
        return found

    def _content(self, row: Row, place: Place) -> tuple[ContentId, ...] | None:
        """What identifies the text at ``place``: the stored message, or the stored prompt."""
        if place.message < 0:
            return None if row.prompt_text is None else (row.prompt_text,)
        return (row.messages[place.message],) if place.message < len(row.messages) else None

    def _text(self, index: int, place: Place) -> str | None:
        row = self._catalog.rows[index]
        if place.message < 0:
            return None if row.prompt_text is None else str(self._catalog.store.get(row.prompt_text))
        message = self._catalog.message(row.messages[place.message])
        if message.get("role") in ("assistant", "tool"):
            return None  # answers and tool results vary by nature
        return text_at(message, place.part)


def _typed_slot(place: Place, skeleton: Skeleton, n: int, values: SlotValues, kind: Kind) -> TypedSlot:
    return TypedSlot(
        place=place,
        before=skeleton.before(n),
        after=skeleton.after(n),
        type=kind.slot_type,
        confidence=kind.confidence,
        ranges=values.ranges,
        first_value=values.first_value,
        values=values.values(),
        varying=values.varying(),
        distinct=values.distinct(),
    )
