"""How many times longer a sweep of 576 cells takes on Ray, on this machine, than on the local engine."""

from __future__ import annotations

import gzip
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.harness import Result, UnavailableError
from bench.traces import CONVERSATION, REPOSITORY
from keepwarm._errors import InputError
from keepwarm.policies import POLICIES
from keepwarm.sweep.cells import Group
from keepwarm.sweep.engines import ENGINES, chosen_engine
from keepwarm.sweep.plan import planned
from keepwarm.sweep.run import Sweep, sweep
from keepwarm.sweep.spec import read_spec

TARGET = "the same bytes"
ROUNDS = 2
SLICE = 3000  # of Mooncake's conversations
HELPDESK = REPOSITORY / "examples" / "helpdesk" / "traffic.jsonl.gz"


def run() -> Result:
    """Whole sweeps in turn, the medians of their times; Ray's own start is part of its time.

    Each starts with an empty folder, with compiled kernels and interned traces. Fails where the rows are not
    the same, byte for byte.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        groups = planned(read_spec(_spec(folder)))
        _timed(groups, "local", folder / "warm")
        times_s: dict[str, list[float]] = {engine: [] for engine in ENGINES}
        for index in range(ROUNDS):
            rows = set()
            for engine in ENGINES:
                done, took_s = _timed(groups, engine, folder / f"{engine}{index}")
                times_s[engine].append(took_s)
                rows.add(done.rows_path.read_bytes())
            if len(rows) != 1:
                raise AssertionError("the engines' rows differ")
        start_s = _timed([Group(groups[0].source, groups[0].cells[:1])], "ray", folder / "start")[1]
    local_s, ray_s = (statistics.median(times_s[engine]) for engine in ENGINES)
    detail: dict[str, object] = {
        "cells": done.cells,
        "policies": len(POLICIES),
        "traces": f"helpdesk, {SLICE} conversations of Mooncake",
        "local_cells_per_s": round(done.cells / local_s, 1),
        "ray_cells_per_s": round(done.cells / ray_s, 1),
        "ray_start_s": round(start_s, 1),
        "rounds": ROUNDS,
        "rows": "the same bytes",
    }
    return Result("sweep-ray", round(ray_s / local_s, 2), "×", detail)


def _spec(folder: Path) -> Path:
    with gzip.open(CONVERSATION, "rt") as file:
        (folder / "slice.jsonl").write_text("".join(next(file) for _ in range(SLICE)))
    per_table = 576 // (2 * len(POLICIES))
    tables = [
        _table(str(HELPDESK), [512 + 64 * step for step in range(per_table)]),
        _table("slice.jsonl", [1000 + 500 * step for step in range(per_table)]),
    ]
    path = folder / "spec.toml"
    path.write_text("".join(tables))
    return path


def _table(trace: str, capacities: Sequence[int]) -> str:
    policies = list(POLICIES)
    return f"[[cache]]\ntraces = [{trace!r}]\npolicies = {policies}\ncapacity_blocks = {list(capacities)}\n"


def _timed(groups: Sequence[Group], engine: str, folder: Path) -> tuple[Sweep, float]:
    """A sweep and its seconds, with nothing kept from before."""
    try:
        chosen = chosen_engine(engine, address=None, threads=None)
    except InputError as error:
        raise UnavailableError(str(error)) from None
    started_s = time.monotonic()
    done = sweep(groups, chosen, folder)
    if done.failures:
        raise AssertionError(done.failures[0].reason)
    return done, time.monotonic() - started_s
