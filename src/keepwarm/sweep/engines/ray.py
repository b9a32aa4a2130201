"""Cells on a Ray cluster: one copy of a trace in the object store of each node, tasks of a few cells each.

Ray's own retries are off: the driver sees each task that is lost, starts its cells again, each in a task of
its own, and so knows a cell that kills its workers from one that was only unlucky.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple, TextIO, cast

import keepwarm
from keepwarm._errors import InputError
from keepwarm.sweep.cells import Cell, Group
from keepwarm.sweep.engines.base import MOST_TRIES
from keepwarm.sweep.keys import model_version
from keepwarm.sweep.work import Outcome, Prepared, prepare

MOST_CELLS_A_TASK = 16
_CONNECT_S = 10.0
_TASKS_A_CORE = 4  # at least, so that no core is idle for long at the end
_held: dict[str, Prepared] = {}  # of a worker process: the last source it worked on


class _Task(NamedTuple):
    """Cells of one source, ``source`` being the reference of its copy, to be computed one after another."""

    source: Any
    cells: Sequence[Cell]
    tries: int = 1


class Ray:
    """The cluster at ``address``; without, one of ``threads`` cores here, which ends with the sweep."""

    def __init__(self, address: str | None = None, threads: int | None = None) -> None:
        """Raises InputError: Ray is not installed."""
        self.lost = 0
        self._address = address
        self._cores = threads or len(os.sched_getaffinity(0))
        self._ray = _installed(alone=address is None)

    def outcomes(self, groups: Sequence[Group]) -> Generator[Outcome, None, None]:
        with self._joined() as cores:
            remote = self._ray.remote(num_cpus=1, max_retries=0)(_computed)
            for group in groups:
                try:
                    prepared = prepare(group.source)
                except InputError as error:
                    yield from (Outcome(cell, None, str(error)) for cell in group.cells)
                    continue
                source = self._ray.put(prepared)
                del prepared
                yield from self._group(remote, source, group.cells, cores)

    def _group(
        self, remote: Any, source: Any, cells: Sequence[Cell], cores: int
    ) -> Generator[Outcome, None, None]:
        waiting = deque(_tasks(source, cells, cores))
        running: dict[Any, _Task] = {}
        while waiting or running:
            while waiting and len(running) < _TASKS_A_CORE * cores:
                task = waiting.popleft()
                running[remote.remote([task.source], task.cells, model_version())] = task
            for reference in self._ray.wait(list(running), num_returns=1)[0]:
                task = running.pop(reference)
                try:
                    yield from self._ray.get(reference)
                except self._ray.exceptions.RayTaskError as error:
                    reason = str(error.cause or error).strip().splitlines()[-1]
                    yield from (Outcome(cell, None, reason) for cell in task.cells)
                except self._ray.exceptions.RayError as error:
                    if task.tries >= MOST_TRIES:
                        lost = f"its worker was lost {MOST_TRIES} times ({type(error).__name__})"
                        yield from (Outcome(cell, None, lost) for cell in task.cells)
                    else:
                        self.lost += 1
                        waiting.extend(_Task(source, (cell,), task.tries + 1) for cell in task.cells)

    @contextlib.contextmanager
    def _joined(self) -> Iterator[int]:
        """Connected; the number of the cluster's cores. Ends what it started, and nothing else."""
        if self._address is not None:
            _check_answers(self._address)
        on_term = signal.getsignal(signal.SIGTERM)
        where: dict[str, object] = {"address": self._address}
        if self._address is None:
            where = {"address": "local", "num_cpus": self._cores, "include_dashboard": False}
        try:
            self._ray.init(log_to_driver=False, logging_level=logging.CRITICAL, **where)
        except (OSError, ValueError, RuntimeError, self._ray.exceptions.RayError) as error:
            place = "on this machine" if self._address is None else f"at {self._address!r}"
            why = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise InputError(
                f"no Ray cluster {place}: {why}; see `ray status`, or take --engine local"
            ) from None
        with contextlib.redirect_stdout(cast("TextIO", _WithoutRay(sys.stdout))):
            try:
                if on_term is not None:
                    signal.signal(signal.SIGTERM, on_term)  # Ray puts its own in place
                yield max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            finally:
                self._ray.shutdown()


class _WithoutRay:
    """``stream`` without what Ray's own threads print: a lost worker is counted, not told in the results."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        from_ray = threading.current_thread().name.startswith("ray_")
        return len(text) if from_ray else self._stream.write(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def _installed(*, alone: bool) -> ModuleType:
    """Ray, which reads what it is told when it is first imported."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing phones home
    if alone:
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # on every system: listen on loopback only
    try:
        import ray
    except ModuleNotFoundError:
        raise InputError(
            "Ray is not installed; pip install keepwarm[cluster], or take --engine local"
        ) from None
    return ray


def _check_answers(address: str) -> None:
    """Raise InputError where nobody listens at HOST:PORT: Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or "/" in host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(
            f"no Ray cluster at {address!r}: {why}; see `ray status`, or take --engine local"
        ) from None


def _tasks(source: Any, cells: Sequence[Cell], cores: int) -> Iterator[_Task]:
    size = max(1, min(MOST_CELLS_A_TASK, len(cells) // (_TASKS_A_CORE * cores)))
    for start in range(0, len(cells), size):
        yield _Task(source, cells[start : start + size])


def _computed(boxed: Sequence[Any], cells: Sequence[Cell], version: str) -> list[Outcome]:
    """What runs on a worker. ``boxed`` holds a reference: Ray would read a bare one anew for each task.

    Raises:
        InputError: the worker has another keepwarm, whose figures could be others.
    """
    if model_version() != version:
        raise InputError(
            f"a worker has another keepwarm ({keepwarm.__version__}); install the same version on every node"
        )
    import ray

    (reference,) = boxed
    name = reference.hex()
    if name not in _held:
        _held.clear()
        _held[name] = ray.get(reference)
    return [_held[name].outcome(cell) for cell in cells]
