"""What kind of value a slot holds, judged by its values, their order and their times.

No label or wording of a prompt is needed: a clock follows the request's time, a counter
moves one way within a session, an identity stays within a session and differs between them,
an id is fresh every time, a passage is long.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence

from keepwarm.diagnose.same_things import bare_words, same_things
from keepwarm.diagnose.times import share_of_times
from keepwarm.diagnose.values import MOSTLY, Kind, Seen, SlotType, by_session

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ID_WORD = re.compile(r"^[\w.:/+=#-]+$")
_JOINED_WORDS = re.compile(r"[^\W\d_]+(?:[-_][^\W\d_]+){2,}")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F-]+")
# What is longer in both is read as a text; names, places and titles stay below.
_LONG_CHARS = 60
_LONG_WORDS = 7
_DETAILS_CHARS = 300  # name, address and plan of a customer on one line
# Codes: as short as tickets get, too long for a word, longer than any number that counts something.
_CODE_CHARS = 4
_CODE_WORDS = 4  # a code may be printed in groups
_MIXED_CASE_CHARS = 10  # shorter ones are brand names, say iPhone
_MIN_CODE_CHARS = 5
_LONG_CODE_CHARS = 12
_FRESH_SHARE = 0.9  # of requests with a value of their own; the rest are retries
_MIN_FRESH = 6  # values of one length that are no coincidence
_MIN_STEPS = 3  # two values in one order say nothing
_MOVING_SHARE = 0.3  # of steps that change the number: fewer are corrections, not a count
_MOST_VERSIONS = 3
_MIN_SESSIONS = 6
_TRIAL_SHARE = 0.15


def classify(seen: Sequence[Seen]) -> Kind:
    """What kind of text a slot holds, from its values in request order, one or more.

    The surest evidence first: equal content, then the clock, then how values follow sessions and
    turns, last what they look like.
    """
    distinct = list(dict.fromkeys(item.value for item in seen))
    if all(not value.strip() for value in distinct):
        return Kind(SlotType.WHITESPACE, 0.95)
    structural = same_things(distinct)
    if structural is not None:
        return structural
    clock = share_of_times(seen)
    if clock >= MOSTLY:
        return Kind(SlotType.TIME, min(0.98, clock))
    long = _is_long(distinct)
    if _constant_within_sessions(seen) and not (long and _is_document(distinct)):
        return Kind(SlotType.IDENTITY, 0.9)
    if _follows_turns(seen):
        return Kind(SlotType.COUNTER, 0.9)
    if long:
        return Kind(SlotType.PASSAGE, 0.85)
    if _moves_one_way(seen):
        return Kind(SlotType.COUNTER, 0.9)
    return _by_look(seen, distinct)


def is_release(seen: Sequence[Seen]) -> bool:
    """Whether the values are versions of a prompt: a new one for all from some time on, or a trial for few.

    Each is constant within sessions. A release changes at most twice, and several sessions
    have each version; a trial is the rarer of two and has few of many sessions.
    """
    first = {group[0].session: group[0].value for group in by_session(seen)}
    if any(first[item.session] != item.value for item in seen):
        return False
    counts = Counter(first.values())
    runs = [value for value, _ in itertools.groupby(first.values())]
    many = len(first) >= _MIN_SESSIONS  # a few stand in order by chance
    released = many and 1 < len(runs) == len(counts) <= _MOST_VERSIONS and min(counts.values()) > 1
    tried = len(counts) == 2 and min(counts.values()) <= _TRIAL_SHARE * len(first)
    return released or tried


def _is_long(distinct: Sequence[str]) -> bool:
    """Long text, on the whole: a passage is read, an identity is looked up."""
    lengths = sorted(len(value) for value in distinct)
    words = sorted(len(bare_words(value)) for value in distinct)
    middle = len(distinct) // 2
    return lengths[middle] > _LONG_CHARS and words[middle] > _LONG_WORDS


def _is_document(distinct: Sequence[str]) -> bool:
    """More than the details of a person or a tenant would fill: several lines, or a long one."""
    longest = sorted(distinct, key=len)[len(distinct) // 2].strip()
    return len(longest) > _DETAILS_CHARS or "\n" in longest


def _constant_within_sessions(seen: Sequence[Seen]) -> bool:
    groups = by_session(seen)
    repeated = [group for group in groups if len(group) > 1]
    if len(groups) < 2 or not repeated:
        return False
    constant = sum(len({item.value for item in group}) == 1 for group in repeated)
    return constant >= MOSTLY * len(repeated)


def _follows_turns(seen: Sequence[Seen]) -> bool:
    """Every session goes through the same values in the same order, each of them once."""
    runs = [
        [value for value, _ in itertools.groupby(item.value for item in group)] for group in by_session(seen)
    ]
    longest = max(runs, key=len)
    if len(longest) < _MIN_STEPS or len(set(longest)) < len(longest):
        return False
    place = {value: i for i, value in enumerate(longest)}
    moving = [run for run in runs if len(run) > 1]
    in_step = [
        run
        for run in moving
        if [place.get(v, -1) - place.get(run[0], -1) for v in run] == list(range(len(run)))
    ]
    return len(moving) > 1 and len(in_step) >= MOSTLY * len(moving)


def _moves_one_way(seen: Sequence[Seen]) -> bool:
    """Some number in the value goes up, or down, nearly always, within a session or overall."""
    shapes = {_NUMBER.sub("0", item.value) for item in seen}
    if len(shapes) > 2:
        return False
    for groups in (by_session(seen), [list(seen)]):
        series = [[_numbers(item.value) for item in group] for group in groups]
        width = min((len(numbers) for run in series for numbers in run), default=0)
        for place in range(width):
            if _one_way([[numbers[place] for numbers in run] for run in series]):
                return True
    return False


def _numbers(value: str) -> list[float]:
    out = []
    for text in _NUMBER.findall(value):
        plain = text.replace(",", "")
        out.append(float(plain) if plain.count(".") <= 1 else 0.0)
    return out


def _one_way(series: Sequence[Sequence[float]]) -> bool:
    steps = [b - a for run in series for a, b in itertools.pairwise(run)]
    moving = [step for step in steps if step]
    if len(moving) < 2 or len(moving) < _MOVING_SHARE * len(steps):
        return False
    up = sum(step > 0 for step in moving)
    return max(up, len(moving) - up) >= MOSTLY * len(moving)


def _by_look(seen: Sequence[Seen], distinct: Sequence[str]) -> Kind:
    """Values that neither follow time nor sessions: told apart by what they look like."""
    fresh = len(distinct) >= _FRESH_SHARE * len(seen)
    changes = _changes_within_session(seen)
    id_like = sum(_looks_like_id(value) for value in distinct) >= MOSTLY * len(distinct)
    if id_like and (fresh or changes):
        return Kind(SlotType.ID, 0.9 if fresh else 0.7)
    if fresh and (_are_codes(distinct) or all(_holds_code(value) for value in distinct)):
        return Kind(SlotType.ID, 0.8)
    if fresh and changes and _are_made_up_names(distinct):
        return Kind(SlotType.ID, 0.7)
    words = max(len(bare_words(value)) for value in distinct)
    if not changes and words <= (_LONG_WORDS if not fresh else _LONG_WORDS // 2):
        return Kind(SlotType.IDENTITY, 0.6)
    if not changes and 2 * len(distinct) <= len(seen) and all(_is_details(value) for value in distinct):
        return Kind(SlotType.IDENTITY, 0.6)
    return Kind(SlotType.PASSAGE, 0.5)


def _changes_within_session(seen: Sequence[Seen]) -> bool:
    last: dict[str, str] = {}
    return any(last.setdefault(item.session, item.value) != item.value for item in seen)


def _looks_like_id(value: str) -> bool:
    """Whether each word is a code: digits, hexadecimal, or letters in mixed case."""
    codes = [word for word in _unquoted_words(value) if word and word != "/"]
    return 0 < len(codes) <= _CODE_WORDS and all(_is_code(word) for word in codes)


def _is_code(text: str) -> bool:
    if not _ID_WORD.match(text) or len(text) < _CODE_CHARS:
        return False
    has_digit = any(char.isdigit() for char in text)
    is_hexadecimal = _HEXADECIMAL.fullmatch(text) is not None
    has_mixed_case = len(text) >= _MIXED_CASE_CHARS and text != text.lower() and text != text.upper()
    return has_digit or is_hexadecimal or has_mixed_case


def _holds_code(value: str) -> bool:
    """Whether one of the words of a line is a code too long to be a number of anything."""
    words = _unquoted_words(value)
    return "\n" not in value and any(len(word) >= _LONG_CODE_CHARS and _is_code(word) for word in words)


def _unquoted_words(value: str) -> list[str]:
    return [word.strip("\"'[](){}<>,;") for word in value.split()]


def _are_codes(distinct: Sequence[str]) -> bool:
    """Single words, many and all of one length: letters drawn at random, not names."""
    lengths = Counter(len(value.strip()) for value in distinct)
    one_word = all(_ID_WORD.match(value.strip()) for value in distinct)
    return one_word and len(distinct) >= _MIN_FRESH and len(lengths) == 1 and min(lengths) >= _MIN_CODE_CHARS


def _are_made_up_names(distinct: Sequence[str]) -> bool:
    """Words drawn at random and joined by hyphens, many values and as many words in each."""
    words = {len(re.split("[-_]", value.strip())) for value in distinct}
    joined = all(_JOINED_WORDS.fullmatch(value.strip()) for value in distinct)
    return joined and len(distinct) >= _MIN_FRESH and len(words) == 1


def _is_details(value: str) -> bool:
    """Whether one line has a number among its words, as a telephone or an account: no sentence to be read."""
    return "\n" not in value.strip() and any(char.isdigit() for char in value)
