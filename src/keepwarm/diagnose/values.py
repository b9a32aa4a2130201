"""What a slot holds in one request, and the kinds of varying text."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple


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


def by_session(seen: Sequence[Seen]) -> list[list[Seen]]:
    """Values in request order, apart for each session."""
    groups: dict[str, list[Seen]] = defaultdict(list)
    for item in seen:
        groups[item.session].append(item)
    return list(groups.values())
