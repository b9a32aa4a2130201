"""What kind of value a slot holds, judged by its values, their order and their times.

No label or wording of a prompt is needed: a clock follows the request's time, a counter
moves one way within a session, an identity stays within a session and differs between them,
an id is fresh every time, a passage is long.
"""

from __future__ import annotations

import datetime as dt
import enum
import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from keepwarm.diagnose.words import split_lines, split_words, squeeze


class SlotType(enum.StrEnum):
    """The kinds of varying text."""

    TIME = "time"
    ID = "id"
    IDENTITY = "identity"
    COUNTER = "counter"
    PASSAGE = "passage"
    ORDER = "order"
    KEY_ORDER = "key-order"
    WHITESPACE = "whitespace"


class Seen(NamedTuple):
    """One request's value of a slot."""

    value: str
    context: str  # the value with some stable text around it
    session: str
    time_s: float | None


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CLOCK = re.compile(
    r"\b([01]?\d|2[0-3])[:h.]([0-5]\d)(?::[0-5]\d(?:[.,]\d+)?)?(?:\s*([ap]\.?m\.?))?", re.IGNORECASE
)
_ISO_DATE = re.compile(r"\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_EPOCH = re.compile(r"(?<!\d)(\d{10})(?:\.\d+|\d{3}|\d{6}|\d{9})?(?!\d)")
_DAY_MONTH = re.compile(
    r"\b(\d{1,2})(?:st|nd|rd|th|\.)?\s+(?:de\s+|of\s+)?([^\W\d]{3,10})\.?,?\s+(?:de\s+)?(\d{4})\b"
)
_MONTH_DAY = re.compile(r"\b([^\W\d]{3,10})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\b")
_SLASH_DATE = re.compile(r"\b(\d{1,2})[/.](\d{1,2})[/.](\d{2,4})\b")
_WEEKDAYS = frozenset(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))
_ID_WORD = re.compile(r"^[\w.:/+=#-]+$")
_CUT_OFF = tuple((begin, end) for begin in ("", "{", "[", '{"', '["') for end in ("", "}", "]", '"}', '"]'))
_DAY_S = 86_400
_QUARTER_S = 900
_MOSTLY = 0.85
_LONG_CHARS = 60
_LONG_WORDS = 7


def classify(seen: Sequence[Seen]) -> tuple[SlotType, float]:
    """The type of a slot and a confidence between 0 and 1, from its values in request order."""
    values = [item.value for item in seen]
    distinct = list(dict.fromkeys(values))
    if all(not value.strip() for value in distinct):
        return SlotType.WHITESPACE, 0.95
    structural = same_things(distinct)
    if structural is not None:
        return structural
    clock = share_of_times(seen)
    if clock >= _MOSTLY:
        return SlotType.TIME, min(0.98, clock)
    if _is_passage(distinct):
        return SlotType.PASSAGE, 0.85
    constant = _constant_within_sessions(seen)
    if constant:
        return SlotType.IDENTITY, 0.9
    if _moves_one_way(seen):
        return SlotType.COUNTER, 0.9
    return _by_look(seen, distinct)


def share_of_times(seen: Sequence[Seen]) -> float:
    """Share of the values that state the time of their request, or any time where none is known."""
    with_value = [item for item in seen if item.value.strip()]
    if not with_value:
        return 0.0
    stated = sum(states_time(item) for item in with_value)
    return stated / len(with_value)


def states_time(item: Seen) -> bool:
    """Whether the value is (a part of) a date or time, near the request's own where that is known."""
    start = item.context.find(item.value)
    end = start + len(item.value)
    known = item.time_s if item.time_s is not None and item.time_s > 10 * 365 * _DAY_S else None
    for pattern, near in _TIME_FORMS:
        for match in pattern.finditer(item.context):
            if match.start() < end and match.end() > start and near(match, known):
                return True
    return item.value.strip().casefold()[:3] in _WEEKDAYS and item.value.strip().isalpha()


def _near_clock(match: re.Match[str], time_s: float | None) -> bool:
    if time_s is None:
        return True
    stated_s = (int(match[1]) % 24) * 3600 + int(match[2]) * 60
    # Time zones differ by quarters of an hour, so only the rest tells.
    off_s = (time_s - stated_s) % _QUARTER_S
    return min(off_s, _QUARTER_S - off_s) <= 150


def _near_date(year: int, month: int, day: int, time_s: float | None) -> bool:
    try:
        stated = dt.date(year, month, day)
    except ValueError:
        return False
    if time_s is None:
        return True
    request = dt.datetime.fromtimestamp(time_s, dt.UTC).date()
    return abs((stated - request).days) <= 2


def _near_named(day: str, year: str, time_s: float | None) -> bool:
    if not 1 <= int(day) <= 31:
        return False
    if time_s is None:
        return 1990 <= int(year) <= 2100
    request = dt.datetime.fromtimestamp(time_s, dt.UTC)
    around = {(request + dt.timedelta(days=shift)).day for shift in (-1, 0, 1)}
    return int(year) == request.year and int(day) in around


def _near_slash(match: re.Match[str], time_s: float | None) -> bool:
    first, second, year = int(match[1]), int(match[2]), int(match[3])
    year += 2000 if year < 100 else 0
    return _near_date(year, first, second, time_s) or _near_date(year, second, first, time_s)


def _near_epoch(match: re.Match[str], time_s: float | None) -> bool:
    stated_s = int(match[1])
    return abs(stated_s - time_s) <= 2 * _DAY_S if time_s is not None else 10**9 <= stated_s < 2 * 10**9


_TIME_FORMS: tuple[tuple[re.Pattern[str], Any], ...] = (
    (_ISO_DATE, lambda m, t: _near_date(int(m[1]), int(m[2]), int(m[3]), t)),
    (_CLOCK, _near_clock),
    (_DAY_MONTH, lambda m, t: _near_named(m[1], m[3], t)),
    (_MONTH_DAY, lambda m, t: _near_named(m[2], m[3], t)),
    (_SLASH_DATE, _near_slash),
    (_EPOCH, _near_epoch),
)


def same_things(distinct: Sequence[str]) -> tuple[SlotType, float] | None:
    """Equal JSON, or the same lines or words, in another order."""
    if len(distinct) < 2 or any(len(value) < 3 for value in distinct):
        return None
    if len({squeeze(value) for value in distinct}) == 1:
        return SlotType.WHITESPACE, 0.95
    keyed = [json_shape(value) for value in distinct]
    if keyed[0] is not None and all(shape == keyed[0] for shape in keyed):
        return SlotType.KEY_ORDER, 0.95
    for split in (_items, _bare_words):
        bags = [Counter(split(value)) for value in distinct]
        if bags[0].total() >= 3 and all(bag == bags[0] for bag in bags):
            return SlotType.ORDER, 0.9
    return None


def _items(text: str) -> list[str]:
    """Lines without numbering, bullets and separators at their ends."""
    lines = (line.strip().strip(",;") for line in split_lines(text))
    return [re.sub(r"^(?:[-*•]|\(?\d+[.):])\s*", "", line) for line in lines if line]


def _bare_words(text: str) -> list[str]:
    return [word for word in split_words(text) if word[0].isalnum()]


def json_shape(text: str) -> str | None:
    """A form equal for equal JSON whatever its key order and spacing; ``None`` if it is no JSON.

    A slot may cut through an object or a list: what texts have in common at its ends is given back.
    """
    stripped = text.strip().rstrip(",")
    for begin, end in _CUT_OFF:
        try:
            value = json.loads(begin + stripped + end)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) or (isinstance(value, list) and len(value) > 1):
            return json.dumps(value, sort_keys=True, ensure_ascii=False)
    return None


def _is_passage(distinct: Sequence[str]) -> bool:
    """Long text, on the whole: a passage is read, an identity is looked up."""
    lengths = sorted(len(value) for value in distinct)
    words = sorted(len(_bare_words(value)) for value in distinct)
    middle = len(distinct) // 2
    return lengths[middle] > _LONG_CHARS and words[middle] > _LONG_WORDS


def _constant_within_sessions(seen: Sequence[Seen]) -> bool:
    by_session: dict[str, set[str]] = defaultdict(set)
    sizes: Counter[str] = Counter()
    for item in seen:
        by_session[item.session].add(item.value)
        sizes[item.session] += 1
    repeated = [session for session, size in sizes.items() if size > 1]
    if len(by_session) < 2 or not repeated:
        return False
    return sum(len(by_session[session]) == 1 for session in repeated) >= _MOSTLY * len(repeated)


def _moves_one_way(seen: Sequence[Seen]) -> bool:
    """Some number in the value goes up, or down, nearly always, within a session or overall."""
    shapes = {_NUMBER.sub("0", item.value) for item in seen}
    if len(shapes) > 2:
        return False
    for groups in (_by_session(seen), [list(seen)]):
        series = [[_numbers(item.value) for item in group] for group in groups]
        width = min((len(numbers) for run in series for numbers in run), default=0)
        for place in range(width):
            if _one_way([[numbers[place] for numbers in run] for run in series]):
                return True
    return False


def _by_session(seen: Sequence[Seen]) -> list[list[Seen]]:
    groups: dict[str, list[Seen]] = defaultdict(list)
    for item in seen:
        groups[item.session].append(item)
    return list(groups.values())


def _numbers(value: str) -> list[float]:
    out = []
    for text in _NUMBER.findall(value):
        plain = text.replace(",", "")
        out.append(float(plain) if plain.count(".") <= 1 else 0.0)
    return out


def _one_way(series: Sequence[Sequence[float]]) -> bool:
    steps = [b - a for run in series for a, b in itertools.pairwise(run)]
    moving = [step for step in steps if step]
    if len(moving) < 2 or len(moving) < 0.3 * len(steps):
        return False
    up = sum(step > 0 for step in moving)
    return max(up, len(moving) - up) >= _MOSTLY * len(moving)


def _by_look(seen: Sequence[Seen], distinct: Sequence[str]) -> tuple[SlotType, float]:
    """Values that neither follow time nor sessions: told apart by what they look like."""
    fresh = len(distinct) >= 0.9 * len(seen)
    id_like = sum(_looks_like_id(value) for value in distinct) >= _MOSTLY * len(distinct)
    if id_like and (fresh or _changes_within_session(seen)):
        return SlotType.ID, 0.9 if fresh else 0.7
    if not _changes_within_session(seen) and max(len(_bare_words(v)) for v in distinct) <= _LONG_WORDS:
        return SlotType.IDENTITY, 0.6
    return SlotType.PASSAGE, 0.5


def _changes_within_session(seen: Sequence[Seen]) -> bool:
    last: dict[str, str] = {}
    return any(last.setdefault(item.session, item.value) != item.value for item in seen)


def _looks_like_id(value: str) -> bool:
    text = value.strip().strip("\"'[](){}<>,;")
    if not _ID_WORD.match(text) or len(text) < 4:
        return False
    digits = sum(char.isdigit() for char in text)
    hexadecimal = re.fullmatch(r"[0-9a-fA-F-]{4,}", text) is not None
    mixed_case = len(text) >= 10 and text != text.lower() and text != text.upper()
    return digits > 0 or hexadecimal or mixed_case
