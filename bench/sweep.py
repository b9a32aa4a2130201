"""Seconds of `keepwarm simulate cache`: 8 policies × 16 capacities over the agent sessions, all cores."""

from __future__ import annotations

import tempfile

import numpy as np

from bench.harness import Result, run_keepwarm
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
    spaced = np.geomspace(trace.largest_prompt_blocks, LARGEST_BLOCKS, CAPACITIES)
    capacities = np.unique(spaced.astype(int)).tolist()
    arguments = ["simulate", "cache", str(AGENT_SESSIONS), "--json", "--policy", ",".join(POLICIES)]
    arguments += ["--capacity-blocks", ",".join(map(str, capacities))]
    with tempfile.TemporaryDirectory() as folder:
        environment = {"NUMBA_CACHE_DIR": f"{folder}/numba", "KEEPWARM_CACHE_DIR": f"{folder}/ours"}
        first, again = (run_keepwarm(*arguments, **environment) for _ in range(2))
    detail: dict[str, object] = {
        "policies": len(POLICIES),
        "capacities": f"{len(capacities)} from {capacities[0]} to {capacities[-1]} blocks",
        "requests": trace.requests,
        "block_accesses_M": round(len(trace.ids) * len(POLICIES) * len(capacities) / 1e6),
        "peak_GiB": round(again.peak_gib, 2),
        "first_run_s": round(first.wall_s, 1),
        "first_run_peak_GiB": round(first.peak_gib, 2),
    }
    return Result("sweep", round(again.wall_s, 1), "s", detail)
