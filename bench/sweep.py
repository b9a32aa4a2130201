"""Seconds of `keepwarm simulate cache`: 8 policies × 16 capacities over the agent sessions, all cores."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.harness import Result
from bench.traces import AGENT_SESSIONS, agent_sessions
from keepwarm.policies import POLICIES

TARGET = "≤ 60"
CAPACITIES = 16
LARGEST_BLOCKS = 1 << 18  # beyond, next to nothing is evicted


def run() -> Result:
    """The same command twice, each in a process of its own; the value is the second's wall time.

    The first finds neither compiled kernels nor the interned trace, the second finds both. Capacities go in
    equal ratios from the smallest that holds the largest prompt.
    """
    trace = agent_sessions()
    smallest = -(-int(trace.prompt_tokens.max()) // trace.block_size)
    capacities = np.unique(np.geomspace(smallest, LARGEST_BLOCKS, CAPACITIES).astype(int)).tolist()
    arguments = ["simulate", "cache", str(AGENT_SESSIONS), "--json", "--policy", ",".join(POLICIES)]
    arguments += ["--capacity-blocks", ",".join(map(str, capacities))]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "NUMBA_CACHE_DIR": f"{folder}/numba",
            "KEEPWARM_CACHE_DIR": f"{folder}/ours",
        }
        first_s, first_gib = _timed(arguments, environment)
        again_s, again_gib = _timed(arguments, environment)
    detail: dict[str, object] = {
        "policies": len(POLICIES),
        "capacities": f"{len(capacities)} from {capacities[0]} to {capacities[-1]} blocks",
        "requests": trace.requests,
        "block_accesses_M": round(len(trace.ids) * len(POLICIES) * len(capacities) / 1e6),
        "peak_GiB": round(again_gib, 2),
        "first_run_s": round(first_s, 1),
        "first_run_peak_GiB": round(first_gib, 2),
    }
    return Result("sweep", round(again_s, 1), "s", detail)


def _timed(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Wall seconds and peak GiB of a command; ``OSError`` when it fails."""
    command = [str(Path(sys.executable).parent / "keepwarm"), *arguments]
    started_s = time.monotonic()
    with Path(os.devnull).open("wb") as sink:
        actions = [(os.POSIX_SPAWN_DUP2, sink.fileno(), 1), (os.POSIX_SPAWN_DUP2, sink.fileno(), 2)]
        child = os.posix_spawn(command[0], command, environment, file_actions=actions)
        _, status, usage = os.wait4(child, 0)
    if status != 0:
        raise OSError(f"keepwarm {' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - started_s, usage.ru_maxrss / 2**20  # Linux counts KiB
