"""What the rows say of one setting: means over its seeds, and how many there were."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from bench.fleet.plan import BASELINE, SEEDS, Run
from keepwarm.fleet.row import FleetRow

Rows = Mapping[Run, FleetRow]


class Mean(NamedTuple):
    """Over ``seeds`` seeds."""

    value: float
    seeds: int


def mean(rows: Rows, run: Run, figure: Callable[[FleetRow], float]) -> Mean | None:
    """The arithmetic mean of a figure, ``run`` with whatever seed; None if there is no such row."""
    found = [figure(rows[one]) for one in _seeds_of(run) if one in rows]
    return Mean(statistics.fmean(found), len(found)) if found else None


def completion_s(rows: Rows, run: Run) -> Mean | None:
    """The geometric mean of what a session spends waiting for answers."""
    found = [_completion_s(rows[one]) for one in _seeds_of(run) if one in rows]
    return Mean(statistics.geometric_mean(found), len(found)) if found else None


def gain(rows: Rows, run: Run) -> Mean | None:
    """Completion of fcfs with lru behind the same balancer divided by that of ``run``, geometric mean."""
    pairs = [(_baseline_of(one), one) for one in _seeds_of(run)]
    found = [
        _completion_s(rows[plain]) / _completion_s(rows[one])
        for plain, one in pairs
        if plain in rows and one in rows
    ]
    return Mean(statistics.geometric_mean(found), len(found)) if found else None


def gain_kept(rows: Rows, run: Run) -> Mean | None:
    """The gain divided by that of one server, each the mean of its own seeds."""
    here, alone = gain(rows, run), gain(rows, alone_of(run))
    return None if here is None or alone is None else Mean(here.value / alone.value, here.seeds)


def slower(rows: Rows, run: Run) -> Mean | None:
    """Completion divided by that of one server with the same rules."""
    here, alone = completion_s(rows, run), completion_s(rows, alone_of(run))
    return None if here is None or alone is None else Mean(here.value / alone.value, here.seeds)


def alone_of(run: Run) -> Run:
    """One server with the same rules and sessions."""
    return Run(
        replicas=1,
        balancer="",
        scheduling=run.scheduling,
        eviction=run.eviction,
        sessions=run.sessions,
        seed=run.seed,
    )


def _baseline_of(run: Run) -> Run:
    return msgspec.structs.replace(run, scheduling=BASELINE[0], eviction=BASELINE[1])


def _seeds_of(run: Run) -> list[Run]:
    return [msgspec.structs.replace(run, seed=seed) for seed in SEEDS]


def _completion_s(row: FleetRow) -> float:
    return row.overall.session_completion_s
