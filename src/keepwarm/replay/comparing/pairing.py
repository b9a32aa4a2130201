"""Which request of one run is which of the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

from keepwarm._errors import InputError
from keepwarm._text import clip, visible
from keepwarm.replay.measuring.record import Row

_SHOWN = 60


class Pair(NamedTuple):
    """The same request in both runs."""

    before: Row
    after: Row

    @property
    def is_compared(self) -> bool:
        """Whether both were answered."""
        return self.before.status == self.after.status == "ok"


class Paired(NamedTuple):
    """All requests, in the order of the run before."""

    by: Literal["id", "session and position"]
    pairs: tuple[Pair, ...]


def pair_rows(before: Sequence[Row], after: Sequence[Row]) -> Paired:
    """By id if both runs have the same, else by session and position in it, as recorders make new ids.

    Raises InputError: the request sets differ.
    """
    ids = {row.id: row for row in after}
    if len(ids) == len(after) and {row.id for row in before} == set(ids):
        return Paired("id", tuple(Pair(row, ids[row.id]) for row in before))
    first, second = _keyed(before), _keyed(after)
    if set(first) != set(second):
        raise InputError(_difference(before, after, first, second))
    return Paired("session and position", tuple(Pair(row, second[key]) for key, row in first.items()))


def _keyed(rows: Sequence[Row]) -> dict[Hashable, Row]:
    positions: Counter[str | None] = Counter()
    keyed: dict[Hashable, Row] = {}
    for row in rows:
        positions[row.session] += 1
        keyed[row.session, positions[row.session]] = row
    return keyed


def _difference(
    before: Sequence[Row], after: Sequence[Row], first: dict[Hashable, Row], second: dict[Hashable, Row]
) -> str:
    only_before = [row for key, row in first.items() if key not in second]
    only_after = [row for key, row in second.items() if key not in first]
    run, alone = ("BEFORE", only_before[0]) if only_before else ("AFTER", only_after[0])
    shown = clip(visible(alone.id), _SHOWN)
    return (
        f"the runs do not match: {len(before)} and {len(after)} requests, of which {len(only_before)} are "
        f"only in BEFORE and {len(only_after)} only in AFTER, the first {shown!r} (line {alone.line} of "
        f"{run}); replay the same cases, with the same ids or the same sessions in the same order"
    )
