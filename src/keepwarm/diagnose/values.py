"""The values of a slot, one per request, and the kinds of varying text."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

MOSTLY = 0.85
"""Share of the values that have to behave alike: a few odd ones are retries, or cut off."""

_CONTEXT_CHARS = 24  # enough for the rest of a date or time of which only a part varies


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


class Kind(NamedTuple):
    """What kind of text varies, and how sure that is: 0 to 1."""

    slot_type: SlotType
    confidence: float


class Seen(NamedTuple):
    """One request's value of a slot."""

    value: str
    context: str  # the value with some stable text around it
    session: str
    time_s: float | None


def seen_at(text: str, start: int, end: int, session: str, time_s: float | None) -> Seen:
    """The value ``start:end`` of ``text``, as one request shows it."""
    return Seen(text[start:end], text[max(0, start - _CONTEXT_CHARS) : end + _CONTEXT_CHARS], session, time_s)


def by_session(seen: Sequence[Seen]) -> list[list[Seen]]:
    """Values in request order, apart for each session."""
    groups: dict[str, list[Seen]] = defaultdict(list)
    for item in seen:
        groups[item.session].append(item)
    return list(groups.values())
