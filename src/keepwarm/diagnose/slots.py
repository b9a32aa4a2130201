"""Slots: the stretches of an otherwise stable text that vary from request to request.

The distinct texts at one position of a call site are laid over each other; what all of them
share is the stable text, the gaps are slots. Every text gets its own range per slot, so a
slot can be cut out of, or made constant in, any recorded request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from keepwarm.diagnose.same_things import json_around, same_things
from keepwarm.diagnose.values import Kind, SlotType
from keepwarm.diagnose.words import Gap, diff, split_words

_CONTEXT_CHARS = 80
_VARIANTS_COMPARED = 40  # texts that decide where holes are; each is compared with one base
# Texts that share less are about different things, and what they share is common phrases.
_MIN_STABLE_CHARS = 40
_MIN_STABLE_SHARE = 0.15
_MIN_BRIDGE_WORDS = 2  # between two holes: a single word in common is chance
_MOST_ITEMS = 64  # of a list looked for in another order
_PARTS_OF_RECORDS = (SlotType.ID, SlotType.IDENTITY)
_SEPARATOR_CHARS = 8  # by which orders of one list may differ in length


class Range(NamedTuple):
    """Characters ``start:end`` of one text."""

    start: int
    end: int


class Skeleton:
    """The stable text that several texts share, with the holes in which they differ."""

    def __init__(self, base: str, holes: Sequence[Range]) -> None:
        self.base = base
        self.holes = tuple(holes)

    def ranges(self, text: str) -> tuple[Range, ...]:
        """What stands in each hole in ``text``, as its own character ranges: in order, not overlapping."""
        gaps = diff(self.base, text)
        ranges: list[Range] = []
        for hole in self.holes:
            start, end = _mapped(hole, gaps)
            free = ranges[-1].end if ranges else 0  # a gap across two holes belongs to the first
            ranges.append(Range(max(start, free), max(end, free)))
        return tuple(ranges)

    def before(self, n: int) -> str:
        """Stable text in front of hole ``n``."""
        previous_end = self.holes[n - 1].end if n else 0
        start = self.holes[n].start
        return self.base[max(previous_end, start - _CONTEXT_CHARS) : start]

    def after(self, n: int) -> str:
        """Stable text behind hole ``n``."""
        next_start = self.holes[n + 1].start if n + 1 < len(self.holes) else len(self.base)
        end = self.holes[n].end
        return self.base[end : min(next_start, end + _CONTEXT_CHARS)]

    def in_records(self, kinds: Sequence[Kind]) -> list[Kind]:
        """The ``kinds`` of the holes, where an id or a name in a fetched JSON record belongs to its passages.

        A record was fetched as a whole if it is long and more of it varies than stays.
        """
        passages: dict[Range | None, Kind] = {}
        for hole, kind in zip(self.holes, kinds, strict=True):
            if kind.slot_type is SlotType.PASSAGE and (record := self._record(hole)) is not None:
                passages.setdefault(record, kind)
        if not passages:
            return list(kinds)
        return [
            passages.get(self._record(hole), kind) if kind.slot_type in _PARTS_OF_RECORDS else kind
            for hole, kind in zip(self.holes, kinds, strict=True)
        ]

    def _record(self, hole: Range) -> Range | None:
        """The long JSON value around a hole of which more varies than stays."""
        around = json_around(self.base, *hole)
        if around is None:
            return None
        start, end, _ = around
        varying = sum(other.end - other.start for other in self.holes if start <= other.start < end)
        return Range(start, end) if end - start > _CONTEXT_CHARS and 2 * varying > end - start else None


class WholeText(Skeleton):
    """Texts that share nothing: all of each is one slot."""

    def __init__(self, base: str) -> None:
        super().__init__(base, [Range(0, len(base))])

    def ranges(self, text: str) -> tuple[Range, ...]:
        """The whole text."""
        return (Range(0, len(text)),)


def learn_skeleton(texts: Sequence[str]) -> Skeleton | None:
    """The skeleton of distinct ``texts``, ``None`` when they do not share a stable text."""
    if len(texts) < 2:
        return None
    base = texts[0]
    gaps = [diff(base, text) for text in texts[1:]]
    holes = _bridge(base, _union([Range(gap.a_start, gap.a_end) for own in gaps for gap in own]))
    holes = _joined_lists(texts, holes, [[], *gaps])
    stable_chars = len(base) - sum(hole.end - hole.start for hole in holes)
    if stable_chars < max(_MIN_STABLE_CHARS, _MIN_STABLE_SHARE * len(base)):
        return None
    return Skeleton(base, holes)


def pick_variants(count: int) -> list[int]:
    """Which of ``count`` distinct texts decide where the holes are: all, or evenly spaced ones."""
    if count <= _VARIANTS_COMPARED:
        return list(range(count))
    step = count / _VARIANTS_COMPARED
    return sorted({int(i * step) for i in range(_VARIANTS_COMPARED)})


def _union(ranges: list[Range]) -> list[Range]:
    merged: list[Range] = []
    for item in sorted(ranges):
        if merged and item.start <= merged[-1].end:
            merged[-1] = Range(merged[-1].start, max(merged[-1].end, item.end))
        else:
            merged.append(item)
    return merged


def _bridge(base: str, holes: list[Range]) -> list[Range]:
    """Join holes with next to nothing stable between them, where one of them is long text."""
    joined: list[Range] = []
    for hole in holes:
        if joined:
            last = joined[-1]
            between = [word for word in split_words(base[last.end : hole.start]) if not word.isspace()]
            long = max(last.end - last.start, hole.end - hole.start) > _CONTEXT_CHARS
            if len(between) < _MIN_BRIDGE_WORDS or (long and len(between) < 4 * _MIN_BRIDGE_WORDS):
                joined[-1] = Range(last.start, hole.end)
                continue
        joined.append(hole)
    return joined


def _joined_lists(texts: Sequence[str], holes: Sequence[Range], gaps: Sequence[Sequence[Gap]]) -> list[Range]:
    """Join runs of holes that together hold the same things in another order in each text.

    A list is laid over another order of it item by item, JSON member by member; no hole alone
    shows that they are the same.
    """
    joined: list[Range] = []
    first = 0
    while first < len(holes):
        whole = _equal_json(texts, holes[first], gaps)
        if whole is not None:
            joined.append(whole)
            first = next((i for i in range(first, len(holes)) if holes[i].start >= whole.end), len(holes))
            continue
        last = min(len(holes), first + _MOST_ITEMS) - 1
        while last > first and not _same_in_all(texts, Range(holes[first].start, holes[last].end), gaps):
            last -= 1
        joined.append(Range(holes[first].start, holes[last].end))
        first = last + 1
    return joined


def _equal_json(texts: Sequence[str], hole: Range, gaps: Sequence[Sequence[Gap]]) -> Range | None:
    """The object or list around ``hole``, if it is equal in all texts and only written differently."""
    around = json_around(texts[0], *hole)
    if around is None:
        return None
    start, end, shape = around
    for text, own in zip(texts, gaps, strict=True):
        other = json_around(text, *_mapped(hole, own))
        if other is None or other[2] != shape or tuple(_mapped(Range(start, end), own)) != other[:2]:
            return None
    return Range(start, end)


def _same_in_all(texts: Sequence[str], hole: Range, gaps: Sequence[Sequence[Gap]]) -> bool:
    for count in (2, len(texts)):  # most runs fail on the first two texts, many on their lengths
        ranges = [_mapped(hole, own) for own in gaps[:count]]
        lengths = [end - start for start, end in ranges]
        if max(lengths) - min(lengths) > _SEPARATOR_CHARS:
            return False
        values = [text[start:end] for text, (start, end) in zip(texts[:count], ranges, strict=True)]
        found = same_things(list(dict.fromkeys(values)))
        if found is None or found.slot_type is SlotType.WHITESPACE:
            return False
    return True


def _mapped(hole: Range, gaps: Sequence[Gap]) -> Range:
    """The range of another text that stands where ``hole`` stands in the base."""
    shift_start = shift_end = 0
    for gap in gaps:
        if gap.a_end <= hole.start and not (gap.a_start == gap.a_end == hole.start):
            shift_start = gap.b_end - gap.a_end
        if gap.a_end <= hole.end:
            shift_end = gap.b_end - gap.a_end
    return _inside(hole, gaps, shift_start, shift_end)


def _inside(hole: Range, gaps: Sequence[Gap], shift_start: int, shift_end: int) -> Range:
    """Corrected where a gap of an unsampled text runs across an edge of the hole."""
    start, end = hole.start + shift_start, hole.end + shift_end
    for gap in gaps:
        if gap.a_start < hole.start < gap.a_end:
            start = gap.b_start
        if gap.a_start < hole.end < gap.a_end:
            end = gap.b_end
    return Range(start, max(start, end))
