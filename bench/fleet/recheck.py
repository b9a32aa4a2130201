"""Rows that older code made, kept where newer code still makes them: computing all anew takes hours."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from bench import row_file
from bench.fleet import store
from bench.fleet.plan import GROUPS, Run, plan
from keepwarm.fleet.row import FleetRow


class Rechecked(NamedTuple):
    """Runs computed anew, those of them that came out otherwise, and how many rows are good from now on."""

    runs: list[Run]
    differ: list[Run]
    restamped: int


def recheck(count: int, row_of: Callable[[Run], FleetRow], seed: int = 0) -> Rechecked:
    """Compute ``count`` rows of older code anew, chosen by ``seed``; if all are equal, all such rows stay.

    Nobody may append to the file meanwhile. Nothing changes where one differs, or where there is none.
    """
    rows, wanted = store.read(), set(plan(list(GROUPS)))
    good = {one.run for one in rows if one.code == store.code_of(one.run)}
    stale = {one.run: one for one in rows if one.run in wanted and one.run not in good}
    chosen = random.Random(seed).sample(sorted(stale, key=repr), min(count, len(stale)))
    differ = [run for run in chosen if row_file.figures(row_of(run)) != row_file.figures(stale[run].row)]
    if differ or not chosen:
        return Rechecked(chosen, differ, 0)
    kept = {one.run: one for one in rows if one.run in good and one.code == store.code_of(one.run)}
    kept |= {run: store.Stored(run, store.code_of(run), one.row) for run, one in stale.items()}
    store.rewrite(list(kept.values()))
    return Rechecked(chosen, differ, len(stale))
