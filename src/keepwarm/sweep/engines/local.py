"""Cells on this machine: cache cells in threads, as the kernel holds no lock, serving cells in processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker

from keepwarm._errors import InputError
from keepwarm.sweep.cells import Cell, Group
from keepwarm.sweep.engines.base import MOST_TRIES
from keepwarm.sweep.work import Outcome, Prepared, prepare

_shared: list[Prepared] = []  # of a worker process


class Local:
    """As many cells at a time as ``threads``, or as cores if None."""

    def __init__(self, threads: int | None = None) -> None:
        self.lost = 0
        self._workers = threads or len(os.sched_getaffinity(0))

    def outcomes(self, groups: Sequence[Group]) -> Generator[Outcome, None, None]:
        for group in groups:
            try:
                prepared = prepare(group.source)
            except InputError as error:
                yield from (Outcome(cell, None, str(error)) for cell in group.cells)
                continue
            if group.source.serving:
                yield from self._in_processes(prepared, group.cells)
            else:
                yield from self._in_threads(prepared, group.cells)

    def _in_threads(self, prepared: Prepared, cells: Sequence[Cell]) -> Generator[Outcome, None, None]:
        pool = ThreadPoolExecutor(min(self._workers, len(cells)))
        try:
            for future in as_completed([pool.submit(prepared.outcome, cell) for cell in cells]):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # replays that run end by themselves

    def _in_processes(self, prepared: Prepared, cells: Sequence[Cell]) -> Generator[Outcome, None, None]:
        """All together; once a process is lost, what is left one by one, to know which cell did it."""
        left = {cell.key: cell for cell in cells}
        workers = min(self._workers, len(cells))
        try:
            for outcome in _in_pool(prepared, cells, workers):
                del left[outcome.cell.key]
                yield outcome
        except BrokenProcessPool:
            self.lost += 1
            for cell in left.values():
                yield _alone(prepared, cell)


def _alone(prepared: Prepared, cell: Cell) -> Outcome:
    for _ in range(MOST_TRIES - 1):
        try:
            return next(_in_pool(prepared, (cell,), 1))
        except BrokenProcessPool:
            continue
    return Outcome(cell, None, f"its process was lost {MOST_TRIES} times; is there memory enough?")


def _in_pool(prepared: Prepared, cells: Sequence[Cell], workers: int) -> Generator[Outcome, None, None]:
    """Raises BrokenProcessPool: a process was lost; what is not told by then has to be computed again."""
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    pool = ProcessPoolExecutor(workers, context, initializer=_share, initargs=(prepared,))
    finished = False
    try:
        with _deaf_children():
            futures = [pool.submit(_outcome_of_shared, cell) for cell in cells]
        for future in as_completed(futures):
            yield future.result()
        finished = True
    finally:
        if not finished:  # a cell may take minutes: its process is not waited for
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes that start in the block never hear SIGINT: Ctrl-C reaches all, and the parent ends them."""
    resource_tracker.ensure_running()  # later, its start would lift the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _share(prepared: Prepared) -> None:
    _shared.append(prepared)


def _outcome_of_shared(cell: Cell) -> Outcome:
    return _shared[0].outcome(cell)
