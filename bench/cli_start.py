"""CPU milliseconds of `keepwarm --help`, the median of several fresh processes."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from pathlib import Path

from bench.harness import Result

TARGET = "≤ 150"
RUNS = 15


def run() -> Result:
    """User and system time of the child alone, so a busy machine changes little."""
    command = [str(Path(sys.executable).parent / "keepwarm"), "--help"]
    subprocess.run(command, check=True, capture_output=True)  # byte code is compiled by now
    times_ms = sorted(_cpu_ms(command) for _ in range(RUNS))
    detail = {"runs": RUNS, "min": round(times_ms[0]), "max": round(times_ms[-1])}
    return Result("cli-start", round(statistics.median(times_ms), 1), "ms CPU", detail)


def _cpu_ms(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
