"""Where in a repository the text around a slot is built: candidates, the likeliest first.

Nothing is guessed from names of files. A candidate stands where words of the recorded prompt stand
in the source; how many of them, how near the slot, and in how many places, makes its confidence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from keepwarm.repair.clues import Clues, Sides
from keepwarm.repair.locate_tools import tool_places
from keepwarm.repair.source_words import SourceWords, grams
from keepwarm.repair.sources import Reading, Repository, Source, read_sources
from keepwarm.repair.task import Location

_GRAM_WORDS = 3
_NEAR_WORDS = 12  # apart, and still one stretch: an expression stands between
_SLOT_WORDS = 40  # of source between both sides of one slot
_LEAST_CONFIDENCE = 0.15
_MOST_LOCATIONS = 8
_CODE_CONFIDENCE = 0.3
_LEAST_WORDS = 4  # of one side alone: fewer are a common phrase
_BESIDE_BEST = 0.35  # of the best confidence; what is less likely is noise beside it
_WIDENING_SHARE = 0.5  # of the best one's score, for an overlapping place to widen it
_WIDEST_LINES = 12
_ALONE = 0.8  # of the confidence, where one side of the slot only is found
_FAR = 0.75  # where the words next to the slot are not among those found
_UNLIKELY = 0.4
_UNLIKELY_PARTS = frozenset(
    {
        "test",
        "tests",
        "spec",
        "fixtures",
        "testdata",
        "golden",
        "docs",
        "vendor",
        "node_modules",
        "dist",
        "third_party",
    }
)
_UNLIKELY_NAMES = re.compile(
    r"(?i)(?:\.(?:jsonl|ndjson|csv|log|lock|min\.js|patch|diff|map|snap|svg)|^(?:readme|changelog)[^/]*)$"
)


class _Stretch(NamedTuple):
    """Words of the source that are words of one side of a slot."""

    first: int
    last: int
    share: float  # of the side's words
    is_near: bool  # the words next to the slot are among them


class _Place(NamedTuple):
    path: str
    first_line: int
    last_line: int
    score: float
    why: str


class Located(NamedTuple):
    """Candidates, and what was searched."""

    locations: tuple[Location, ...]
    reading: Reading


def locate(repository: Repository, clues: Sequence[Clues]) -> Located:
    """Candidates for where the text is built that ``clues`` describe. Reads files, changes nothing."""
    reading = Reading()
    sources = list(read_sources(repository, reading))
    places: list[_Place] = []
    for clue in clues:
        for sides in clue.sides:
            places += _shared_out([place for source in sources for place in _text_places(source, sides)])
        places += [_Place(*place) for place in tool_places(sources, clue.tools)]
        if clue.code is not None:
            places += _code_places(sources, re.compile(clue.code))
    return Located(tuple(_best(places)), reading)


def _text_places(source: Source, sides: Sides) -> Iterator[_Place]:
    folded = source.text.casefold()
    words = None
    stretches: list[list[_Stretch]] = []
    for side, at_end in ((sides.before, True), (sides.after, False)):
        if not _may_hold(folded, side):
            stretches.append([])
            continue
        words = words or SourceWords(source.text)
        stretches.append(list(_stretches(words.words, side, at_end=at_end)))
    if words is None:
        return
    before, after = stretches
    joined: set[_Stretch] = set()
    for a in before:
        b = next((b for b in after if -1 <= b.first - a.last <= _SLOT_WORDS), None)
        if b is not None:
            joined |= {a, b}
            score = (_worth(a) * len(sides.before) + _worth(b) * len(sides.after)) / (
                len(sides.before) + len(sides.after)
            )
            yield _place(
                source, words, a.first, b.last, score, "the text on both sides of the slot stands here"
            )
    for found, which in ((before, "in front of"), (after, "behind")):
        for stretch in found:
            if stretch not in joined and stretch.last - stretch.first >= _LEAST_WORDS - 1:
                why = f"{stretch.share:.0%} of the words {which} the slot stand here"
                yield _place(source, words, stretch.first, stretch.last, _ALONE * _worth(stretch), why)


def _may_hold(folded: str, side: Sequence[str]) -> bool:
    """Whether a file may hold half of the longer words at all: cheap, before it is read word by word."""
    longest = sorted(set(side), key=len)[-6:]
    return bool(longest) and 2 * sum(word in folded for word in longest) >= len(longest)


def _stretches(words: list[str], side: Sequence[str], *, at_end: bool) -> Iterator[_Stretch]:
    length = min(_GRAM_WORDS, len(side))
    if length == 0 or (length == 1 and len(side[0]) < 5):
        return
    wanted: dict[tuple[str, ...], list[int]] = {}
    for i, gram in grams(list(side), length):
        wanted.setdefault(gram, []).append(i)
    hits: list[tuple[int, list[int]]] = [(p, wanted[g]) for p, g in grams(words, length) if g in wanted]
    group: list[tuple[int, list[int]]] = []
    for hit in [*hits, None]:
        if group and (hit is None or hit[0] - group[-1][0] > _NEAR_WORDS + length):
            covered = {i + k for _, offsets in group for i in offsets for k in range(length)}
            nearest = len(side) - 1 if at_end else 0
            is_near = any(abs(i - nearest) <= 3 for i in covered)
            yield _Stretch(group[0][0], group[-1][0] + length - 1, len(covered) / len(side), is_near)
            group = []
        if hit is not None:
            group.append(hit)


def _worth(stretch: _Stretch) -> float:
    return stretch.share * (1.0 if stretch.is_near else _FAR)


def _place(source: Source, words: SourceWords, first: int, last: int, score: float, why: str) -> _Place:
    return _Place(source.path, words.line(first), words.line(last), score * _likelihood(source.path), why)


def _likelihood(path: str) -> float:
    *folders, name = path.split("/")
    unlikely = not _UNLIKELY_PARTS.isdisjoint(part.casefold() for part in folders) or _UNLIKELY_NAMES.search(
        name
    )
    return _UNLIKELY if unlikely else 0.95


def _shared_out(places: list[_Place]) -> list[_Place]:
    """The same text in several places says less about each."""
    out = []
    for place in places:
        rivals = sum(other.why == place.why and other.score >= 0.9 * place.score for other in places)
        out.append(place._replace(score=place.score / math.sqrt(max(1, rivals))))
    return out


def _code_places(sources: Iterable[Source], pattern: re.Pattern[str]) -> Iterator[_Place]:
    for source in sources:
        for n, line in enumerate(source.text.split("\n"), 1):
            if len(line) < 1000 and pattern.search(line):
                score = _CODE_CONFIDENCE * _likelihood(source.path)
                yield _Place(source.path, n, n, score, "code that handles what varies; no text of the prompt")


def _best(places: Iterable[_Place]) -> Iterator[Location]:
    """The likeliest places; one that overlaps a likelier one is the same, a little wider."""
    taken: list[_Place] = []
    for place in sorted(places, key=lambda p: (-p.score, p.path, p.first_line, p.last_line)):
        same = next((n for n, other in enumerate(taken) if _overlap(place, other)), None)
        least = max(_LEAST_CONFIDENCE, _BESIDE_BEST * taken[0].score if taken else 0.0)
        if same is not None:
            taken[same] = _widened(taken[same], place)
        elif place.score >= least and len(taken) < _MOST_LOCATIONS:
            taken.append(place)
    for place in taken:
        yield Location(
            file=place.path,
            first_line=place.first_line,
            last_line=place.last_line,
            confidence=round(min(place.score, 0.95), 2),
            why=place.why,
        )


def _overlap(a: _Place, b: _Place) -> bool:
    return a.path == b.path and a.first_line <= b.last_line and b.first_line <= a.last_line


def _widened(place: _Place, other: _Place) -> _Place:
    first, last = min(place.first_line, other.first_line), max(place.last_line, other.last_line)
    near = other.score >= _WIDENING_SHARE * place.score and last - first < _WIDEST_LINES
    return place._replace(first_line=first, last_line=last) if near else place
