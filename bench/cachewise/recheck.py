"""Rows that older code made, kept where newer code still makes them.

A change that is to change no figure makes every stored row stale, and computing all of them anew takes days.
Here a few are: spread over the groups, chosen by a seed. If each comes out as it was stored, to the last
digit, all rows of that code are good for the code as it is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice, product, zip_longest
from typing import NamedTuple

from bench import row_file
from bench.cachewise import store
from bench.cachewise.plan import GROUPS, Run, plan
from bench.cachewise.store import Stored
from keepwarm.serving.row import Row

Compute = Callable[[Sequence[Run]], Iterable[tuple[Run, Row]]]


class Difference(NamedTuple):
    """A figure that came out otherwise."""

    run: Run
    figure: str
    stored: object
    found: object

    def __str__(self) -> str:
        return f"{self.run}: {self.figure} is {self.found!r}, stored is {self.stored!r}"


class Rechecked(NamedTuple):
    """Which rows were computed anew, what differed, and how many rows are good from now on."""

    runs: list[Run]
    differences: list[Difference]
    restamped: int


class RecheckError(Exception):
    """There is nothing to recheck, or no telling which code was before."""


def recheck(count: int, compute: Compute, before: Sequence[str] = (), seed: int = 0) -> Rechecked:
    """Compute ``count`` rows of the code ``before`` anew; if all are equal, the present code stands for it.

    ``before`` are digests, one for runs with the active set and one for those without; left out, those of
    the file. Nobody may append to the file meanwhile. Raises RecheckError, and changes nothing, where the
    file has no such row, or rows of several kinds of older code.
    """
    if count < 1:
        raise RecheckError(f"{count!r} rows prove nothing; recheck at least 1")
    rows = store.read()
    stale = [one for one in rows if one.code in (before or _codes_before(rows))]
    stale = [one for one in stale if one.code != store.code_of(one.run)]
    chosen = choose(stale, count, seed)
    if not chosen:
        raise RecheckError(f"no row of {' or '.join(before) or 'older code'} that is still in the plan")
    stored = {one.run: one for one in chosen}
    differences = [
        difference for run, row in compute(list(stored)) for difference in _differences(stored[run], row)
    ]
    if differences:
        return Rechecked(list(stored), differences, 0)
    return Rechecked(list(stored), [], _restamp(rows, {one.code for one in chosen}))


def choose(stale: Sequence[Stored], count: int, seed: int) -> list[Stored]:
    """Up to ``count``, in turn of every group and digest, so that few rows cover both; none twice."""
    chances = random.Random(seed)
    queues = []
    for group, code in product(GROUPS, sorted({one.code for one in stale})):
        wanted = set(plan([group]))
        queue = [one for one in stale if one.code == code and one.run in wanted]
        chances.shuffle(queue)
        queues.append(queue)
    in_turn = chain.from_iterable(zip_longest(*queues))
    return list(islice({one.run: one for one in in_turn if one is not None}.values(), count))


def _codes_before(rows: Sequence[Stored]) -> set[str]:
    """Of either kind of run, the one digest that is not the present code's."""
    codes: dict[str, set[str]] = {}
    for one in rows:
        now = store.code_of(one.run)
        if one.code != now:
            codes.setdefault(now, set()).add(one.code)
    for several in codes.values():
        if len(several) > 1:
            raise RecheckError(f"rows of {', '.join(sorted(several))}; name the one before with --before")
    return {code for several in codes.values() for code in several}


def _differences(stored: Stored, row: Row) -> list[Difference]:
    found, kept = row_file.figures(row), row_file.figures(stored.row)
    return [
        Difference(stored.run, name, kept[name], value)
        for name, value in found.items()
        if value != kept[name]
    ]


def _restamp(rows: Sequence[Stored], codes: set[str]) -> int:
    """Rewrite the file with the present digest in place of ``codes``, of which no run has two rows."""
    good = {one.run for one in rows if one.code == store.code_of(one.run)}
    kept: list[Stored] = []
    restamped = 0
    for one in rows:
        if one.code in codes and one.code != store.code_of(one.run):
            if one.run in good:
                continue
            good.add(one.run)
            restamped += 1
            kept.append(Stored(one.run, store.code_of(one.run), one.row))
        else:
            kept.append(one)
    store.rewrite(kept)
    return restamped
