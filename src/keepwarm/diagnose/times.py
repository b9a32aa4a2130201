"""Whether the values of a slot are dates or times, by their form or by the way they follow the clock.

Forms cover what programs print. A weekday's name, a week number or a date in words is
recognised in any language by what it does: it changes when the day or the week does, for all
sessions alike.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Callable, Iterator, Sequence

from keepwarm.diagnose.values import MOSTLY, Seen

_NUMBER = re.compile(r"\d+")
# The escapes are year, month and hour in Chinese and Japanese (5e74 6708 6642), Korean (b144 c6d4 c2dc).
_CLOCK = re.compile(
    r"(?<!\d)([01]?\d|2[0-3])(?:[:.]|\s?[h\u6642\uc2dc]\s?)([0-5]\d)(?!\d)"
    r"(?::[0-5]\d(?:[.,]\d+)?)?(?:\s?([ap]\.?m\.?))?",
    re.IGNORECASE,
)
_YEAR_FIRST = re.compile(
    r"(?<!\d)(\d{4})\s?[-/.\u5e74\ub144]\s?(\d{1,2})\s?[-/.\u6708\uc6d4]\s?(\d{1,2})(?!\d)"
)
_COMPACT = re.compile(
    r"(?<!\d)((?:19|20)\d\d)(\d\d)(\d\d)(?:[T_-]?(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d\d*)?)?(?!\d)"
)
_EPOCH = re.compile(r"(?<!\d)(\d{10})(?:\.\d+|\d{3}|\d{6}|\d{9})?(?!\d)")
_DAY_MONTH = re.compile(
    r"\b(\d{1,2})(?:st|nd|rd|th|\.)?\s+(?:de\s+|of\s+)?([^\W\d]{3,10})\.?,?\s+(?:de\s+)?(\d{4})\b"
)
_MONTH_DAY = re.compile(r"\b([^\W\d]{3,10})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\b")
_DAY_FIRST = re.compile(r"(?<!\d)(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d\d)(?!\d)")
_DAY_S = 86_400
_QUARTER_S = 900
_ZONES_H = range(-12, 15)
_PERIODS_S = (7 * _DAY_S, _DAY_S, _DAY_S // 4, 3600, 1800, 900, 600, 300, 60)
_CLOCK_OFF_S = 150  # a prompt is built a little before it is sent, and clocks differ
_DATE_OFF_DAYS = 2  # time zones, and a prompt made the evening before
_EPOCHS_FROM_S = 10 * 365 * _DAY_S  # smaller times count from the start of a trace
_MIN_COVERED = 0.2  # share of a value that its time takes up: days and zones stand beside it
_MIN_COVERED_OF_LONG = 0.5  # a passage mentions times, a list of events is full of them
_MIN_CONFIRMED = 3  # values that agree with an earlier one where they had the chance to differ
_SHORT_CHARS = 60  # of a date in words with its weekday, time and zone


def share_of_times(seen: Sequence[Seen]) -> float:
    """How sure it is that the values state the time of their request, or any time where none is known."""
    with_value = [item for item in seen if item.value.strip()]
    if not with_value:
        return 0.0
    stated = sum(states_time(item) for item in with_value) / len(with_value)
    if stated >= MOSTLY or any(_epoch(item) is None for item in seen):
        return stated
    if max(len(item.value) for item in seen) <= _SHORT_CHARS and (_tells_day(seen) or _keeps_periods(seen)):
        return 0.9
    return stated


def states_time(item: Seen) -> bool:
    """Whether the value is (a part of) a date or time, near the request's own where that is known."""
    start = item.context.find(item.value)
    end = start + len(item.value)
    covered = 0
    for pattern, near in _FORMS:
        for match in pattern.finditer(item.context):
            inside = min(end, match.end()) - max(start, match.start())
            if inside > 0 and near(match, _epoch(item)):
                covered += inside
    chars = len(item.value.strip())
    least = _MIN_COVERED if chars <= _SHORT_CHARS else _MIN_COVERED_OF_LONG
    return covered > 0 and covered >= least * chars


def _epoch(item: Seen) -> float | None:
    """The time of the request, if it is a date and not seconds since the start of a trace."""
    return item.time_s if item.time_s is not None and item.time_s > _EPOCHS_FROM_S else None


def _near_clock(match: re.Match[str], time_s: float | None) -> bool:
    if time_s is None:
        return True
    stated_s = (int(match[1]) % 24) * 3600 + int(match[2]) * 60
    # Time zones differ by quarters of an hour, so only the rest tells.
    off_s = (time_s - stated_s) % _QUARTER_S
    return min(off_s, _QUARTER_S - off_s) <= _CLOCK_OFF_S


def _near_date(year: int, month: int, day: int, time_s: float | None) -> bool:
    try:
        stated = dt.date(year, month, day)
    except ValueError:
        return False
    if time_s is None:
        return True
    request = dt.datetime.fromtimestamp(time_s, dt.UTC).date()
    return abs((stated - request).days) <= _DATE_OFF_DAYS


def _near_named(day: str, year: str, time_s: float | None) -> bool:
    if not 1 <= int(day) <= 31:
        return False
    if time_s is None:
        return 1990 <= int(year) <= 2100
    request = dt.datetime.fromtimestamp(time_s, dt.UTC)
    around = {(request + dt.timedelta(days=shift)).day for shift in (-1, 0, 1)}
    return int(year) == request.year and int(day) in around


def _near_day_first(match: re.Match[str], time_s: float | None) -> bool:
    first, second, year = int(match[1]), int(match[3]), int(match[4])
    year += 2000 if year < 100 else 0
    return _near_date(year, first, second, time_s) or _near_date(year, second, first, time_s)


def _near_epoch(match: re.Match[str], time_s: float | None) -> bool:
    stated_s = int(match[1])
    if time_s is None:
        return 10**9 <= stated_s < 2 * 10**9  # from 2001 to 2033
    return abs(stated_s - time_s) <= _DATE_OFF_DAYS * _DAY_S


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], float | None], bool]], ...] = (
    (_YEAR_FIRST, lambda m, t: _near_date(int(m[1]), int(m[2]), int(m[3]), t)),
    (_COMPACT, lambda m, t: _near_date(int(m[1]), int(m[2]), int(m[3]), t)),
    (_CLOCK, _near_clock),
    (_DAY_MONTH, lambda m, t: _near_named(m[1], m[3], t)),
    (_MONTH_DAY, lambda m, t: _near_named(m[2], m[3], t)),
    (_DAY_FIRST, _near_day_first),
    (_EPOCH, _near_epoch),
)


def _tells_day(seen: Sequence[Seen]) -> bool:
    """Some number in the values is the day of the month of the request, in one time zone for all."""
    rows = [(_NUMBER.findall(item.value), _epoch(item) or 0.0) for item in seen]
    width = min(len(numbers) for numbers, _ in rows)
    for place, zone_h in itertools.product(range(width), _ZONES_H):
        days = [dt.datetime.fromtimestamp(time_s + 3600 * zone_h, dt.UTC).day for _, time_s in rows]
        equal = sum(int(numbers[place]) == day for (numbers, _), day in zip(rows, days, strict=True))
        confirmed = len(rows) - len(set(days))
        if len(set(days)) > 1 and confirmed >= _MIN_CONFIRMED and equal >= MOSTLY * len(rows):
            return True
    return False


def _keeps_periods(seen: Sequence[Seen]) -> bool:
    """The value stays the same through each week, day or hour, for all sessions, and changes with it."""
    timed = sorted((_epoch(item) or 0.0, item.session, item.value) for item in seen)
    for period_s in _PERIODS_S:
        for shift_s in _shifts(period_s):
            if _changes_with(
                [(int((at + shift_s) // period_s), session, value) for at, session, value in timed]
            ):
                return True
    return False


def _shifts(period_s: int) -> Iterator[int]:
    """Where periods may begin: weeks on any day, days at any hour, shorter ones on the clock."""
    if period_s > _DAY_S:
        yield from range(0, period_s, _DAY_S)
    elif period_s > 3600:
        yield from range(0, period_s, 3600)
    else:
        yield 0


def _changes_with(rows: Sequence[tuple[int, str, str]]) -> bool:
    """Whether a value follows from its period, with enough other sessions to speak against it."""
    value_of: dict[int, str] = {}
    witnesses: dict[int, set[str]] = {}
    for period, session, value in rows:
        if value_of.setdefault(period, value) != value:
            return False
        witnesses.setdefault(period, set()).add(session)
    changed = [value_of[a] != value_of[b] for a, b in itertools.pairwise(value_of)]
    confirmed = sum(len(sessions) - 1 for sessions in witnesses.values())
    return len(changed) > 1 and confirmed >= _MIN_CONFIRMED and sum(changed) >= MOSTLY * len(changed)
