"""Many runs of one workload: every combination asked for, in processes of their own if wanted."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product, repeat

from keepwarm._errors import InputError
from keepwarm._progress import Progress, Silent
from keepwarm.serving.options import ServingOptions
from keepwarm.serving.row import Row
from keepwarm.serving.rules import check_eviction, queue_order
from keepwarm.serving.simulate import check_run, simulate
from keepwarm.serving.timeline_files import TimelineFolder, make_folder
from keepwarm.serving.timeline_recorder import record
from keepwarm.workload.base import Workload

_shared: list[Workload] = []  # of a worker process


def combinations(
    base: ServingOptions,
    *,
    scheduling: Sequence[str],
    eviction: Sequence[str],
    sessions: Sequence[int],
    seeds: Sequence[int],
) -> list[ServingOptions]:
    """``base`` with each combination, the last one changing fastest."""
    return [
        replace(base, scheduling=order, eviction=rule, sessions=count, seed=seed)
        for order, rule, count, seed in product(scheduling, eviction, sessions, seeds)
    ]


def simulate_all(
    workload: Workload,
    runs: Sequence[ServingOptions],
    *,
    processes: int = 1,
    progress: Progress | None = None,
    timelines: TimelineFolder | None = None,
) -> list[Row]:
    """The rows in the order of ``runs``, whoever computes them; with ``timelines``, a file of each run there.

    Raises InputError for the first run that cannot be, before any is done, or a file that cannot be written.
    """
    for run in runs:
        queue_order(run.scheduling)
        check_eviction(run.eviction, run.reuse_model)
        check_run(workload, run)
    if processes < 1:
        raise InputError(f"processes is {processes!r}; give at least 1")
    if timelines is not None:
        make_folder(timelines.path)
    heard = progress or Silent()
    heard.stage("simulating", len(runs))
    rows = []
    for row in _rows(workload, runs, min(processes, len(runs)), timelines):
        rows.append(row)
        heard.advance()
    return rows


def _rows(
    workload: Workload, runs: Sequence[ServingOptions], processes: int, timelines: TimelineFolder | None
) -> Iterator[Row]:
    if processes <= 1:
        yield from (_row(workload, run, timelines) for run in runs)
        return
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    with ProcessPoolExecutor(processes, context, initializer=_share, initargs=(workload,)) as pool:
        yield from pool.map(_row_of_shared, runs, repeat(timelines))


def _row(workload: Workload, run: ServingOptions, timelines: TimelineFolder | None) -> Row:
    if timelines is None:
        return simulate(workload, run)
    recorded = record(workload, run, trace_sha256=timelines.trace_sha256)
    timelines.write(run, recorded.timeline)
    return recorded.row


def _share(workload: Workload) -> None:
    _shared.append(workload)


def _row_of_shared(run: ServingOptions, timelines: TimelineFolder | None) -> Row:
    return _row(_shared[0], run, timelines)
