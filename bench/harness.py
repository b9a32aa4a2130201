"""What a bench is, how benches are found, and the table of ``bench/README.md``.

A module of this package with a ``run()`` is a bench; its name is the module's with dashes.
Nothing here is asserted by a test: figures are read by people, who know the machine.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import platform
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import bench
from scripts.markers import between

START = "<!-- results: rewritten by `make bench` -->"
END = "<!-- end of results -->"


class Result(NamedTuple):
    """One figure. ``detail`` says how it came about: sizes, medians, the parts of a ratio."""

    name: str
    value: float
    unit: str
    detail: dict[str, object]


class Cost(NamedTuple):
    """What a command took."""

    wall_s: float
    peak_gib: float  # resident memory


class UnavailableError(Exception):
    """What a bench compares with is not installed here; says what to run."""


class Bench(NamedTuple):
    """A bench as listed: what it measures and the value it is held to."""

    name: str
    summary: str
    target: str
    run: Callable[[], Result]


def benches() -> dict[str, Bench]:
    """Every bench by name, sorted. ``TARGET`` of the module is what we hold ourselves to."""
    found = {}
    for info in sorted(pkgutil.iter_modules(bench.__path__), key=lambda info: info.name):
        if info.name in {"harness", "__main__"}:
            continue
        module = importlib.import_module(f"bench.{info.name}")
        if not hasattr(module, "run"):
            continue
        name = info.name.replace("_", "-")
        summary = (module.__doc__ or "").strip().split("\n")[0]
        found[name] = Bench(name, summary, getattr(module, "TARGET", ""), module.run)
    return found


def sentence(result: Result) -> str:
    """A result as a person reads it."""
    detail = ", ".join(f"{key} {value}" for key, value in result.detail.items())
    return f"{result.name}: {result.value:g} {result.unit} ({detail})"


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of this thread in ``work``."""
    before_s = time.thread_time()
    work()
    return time.thread_time() - before_s


def run_keepwarm(*arguments: str, out: Path | None = None, **environment: str) -> Cost:
    """A command in a process of its own, output to ``out`` or thrown away; ``OSError`` when it fails."""
    command = [str(Path(sys.executable).parent / "keepwarm"), *arguments]
    started_s = time.monotonic()
    with Path(os.devnull).open("wb") as sink, (out or Path(os.devnull)).open("wb") as answer:
        actions = [(os.POSIX_SPAWN_DUP2, answer.fileno(), 1), (os.POSIX_SPAWN_DUP2, sink.fileno(), 2)]
        child = os.posix_spawn(command[0], command, os.environ | environment, file_actions=actions)
        _, status, usage = os.wait4(child, 0)
    if status != 0:
        raise OSError(f"keepwarm {' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}")
    return Cost(time.monotonic() - started_s, usage.ru_maxrss / 2**20)  # Linux counts KiB


def machine() -> str:
    """The machine in general terms: never a host name or a path."""
    cores = len(os.sched_getaffinity(0))
    memory_gib = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    flags = set(
        re.findall(r"\w+", Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0])
    )
    vector = next(
        (name for name in ("avx512f", "avx2", "asimd", "sse4_2") if name in flags), "no vector unit"
    )
    return (
        f"{cores} cores, {memory_gib} GiB, {platform.machine()} with {vector}, "
        f"Python {platform.python_version()}"
    )


def rewrite_table(readme: Path, results: list[Result]) -> None:
    """Put the results between the markers of ``readme``; ``ValueError`` when it has none.

    Rows of other benches stay, unless there is no such bench any more.
    """
    known = benches()
    text = readme.read_text()
    rows = {name: row for name, row in _rows(text).items() if name in known}
    for result in results:
        detail = ", ".join(f"{key} {value}" for key, value in result.detail.items())
        target = known[result.name].target
        rows[result.name] = f"| {result.name} | {result.value:g} {result.unit} | {target} | {detail} |"
    head = ["| bench | measured | held to | detail |", "| --- | --- | --- | --- |"]
    body = "\n".join([f"Machine: {machine()}.", "", *head, *(rows[name] for name in sorted(rows))])
    readme.write_text(between(text, START, END, body))


def _rows(text: str) -> dict[str, str]:
    """The rows between the markers, by the name of the bench."""
    lines = text.partition(START)[2].partition(END)[0].splitlines()
    return {line.split("|")[1].strip(): line for line in lines if line.startswith("| ")}
