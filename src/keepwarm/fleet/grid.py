"""Many fleets of one workload: every combination asked for, and what their gains are compared with."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import msgspec

from keepwarm._errors import InputError
from keepwarm._progress import Progress, Silent
from keepwarm.fleet.options import FleetOptions
from keepwarm.fleet.row import FleetRow
from keepwarm.fleet.simulate import check_fleet, simulate_fleet
from keepwarm.policies.lru import Lru
from keepwarm.scheduling.fcfs import Fcfs
from keepwarm.serving.options import ServingOptions
from keepwarm.serving.rules import check_eviction, queue_order
from keepwarm.workload.base import Workload

_shared: list[Workload] = []  # of a worker process


class FleetRows(NamedTuple):
    """``rows`` as asked for; ``compared_with``: other runs that their gains are made of."""

    rows: Sequence[FleetRow]
    compared_with: Sequence[FleetRow]


class _Key(NamedTuple):
    """What tells the runs of a grid apart; one replica has nobody to choose from."""

    balancer: str
    replicas: int
    scheduling: str
    eviction: str
    sessions: int
    seed: int


def fleets(
    runs: Sequence[ServingOptions], *, balancers: Sequence[str], replicas: Sequence[int], load_bound: float
) -> list[FleetOptions]:
    """Each balancer with each number of replicas and each of ``runs``, the last changing fastest."""
    return [
        FleetOptions(server=run, replicas=count, balancer=name, load_bound=load_bound)
        for name, count, run in product(balancers, replicas, runs)
    ]


def simulate_fleets(
    workload: Workload,
    runs: Sequence[FleetOptions],
    *,
    processes: int = 1,
    progress: Progress | None = None,
) -> FleetRows:
    """The rows in the order of ``runs``, which differ in what a row says of them and in nothing else.

    Raises InputError for the first run that cannot be, before any is done.
    """
    for run in runs:
        queue_order(run.server.scheduling)
        check_eviction(run.server.eviction, run.server.reuse_model)
        check_fleet(workload, run)
    if processes < 1:
        raise InputError(f"processes is {processes!r}; give at least 1")
    needed = {_key(run): run for run in runs}
    asked = set(needed)
    for run in runs:
        needed |= {_key(other): other for other in _compared_with(run) if _key(other) not in needed}
    heard = progress or Silent()
    heard.stage("simulating", len(needed))
    found: dict[_Key, FleetRow] = {}
    for key, row in zip(needed, _rows(workload, list(needed.values()), processes), strict=True):
        found[key] = row
        heard.advance()
    return FleetRows(
        [_with_gain(run, found) for run in runs],
        [_with_gain(run, found) for key, run in needed.items() if key not in asked],
    )


def _key(run: FleetOptions) -> _Key:
    server = run.server
    balancer = run.balancer if run.replicas > 1 else ""
    return _Key(balancer, run.replicas, server.scheduling, server.eviction, server.sessions, server.seed)


def _plain(run: FleetOptions) -> FleetOptions:
    return replace(run, server=replace(run.server, scheduling=Fcfs.name, eviction=Lru.name))


def _compared_with(run: FleetOptions) -> tuple[FleetOptions, ...]:
    """What the gain of ``run`` is made of, beside itself."""
    if run == _plain(run):
        return ()
    single = replace(run, replicas=1)
    return _plain(run), single, _plain(single)


def _with_gain(run: FleetOptions, found: dict[_Key, FleetRow]) -> FleetRow:
    row = msgspec.structs.replace(found[_key(run)], balancer=run.balancer)
    if run == _plain(run):
        return msgspec.structs.replace(row, gain=1.0, gain_kept=1.0)
    single = replace(run, replicas=1)
    gain, at_one = (_gain(found[_key(_plain(one))], found[_key(one)]) for one in (run, single))
    return msgspec.structs.replace(row, gain=gain, gain_kept=gain / at_one)


def _gain(plain: FleetRow, chosen: FleetRow) -> float:
    return plain.overall.session_completion_s / chosen.overall.session_completion_s


def _rows(workload: Workload, runs: Sequence[FleetOptions], processes: int) -> Iterator[FleetRow]:
    if min(processes, len(runs)) <= 1:
        yield from (simulate_fleet(workload, run) for run in runs)
        return
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    with ProcessPoolExecutor(
        min(processes, len(runs)), context, initializer=_share, initargs=(workload,)
    ) as pool:
        yield from pool.map(_row_of_shared, runs)


def _share(workload: Workload) -> None:
    _shared.append(workload)


def _row_of_shared(run: FleetOptions) -> FleetRow:
    return simulate_fleet(_shared[0], run)
