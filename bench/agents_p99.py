"""P99 of request latency of agents, simulated: FCFS with LRU against the active set, started together."""

from __future__ import annotations

from bench.cachewise.headline import headline
from bench.harness import Result

TARGET = "≥ 1×"


def run() -> Result:
    """From the rows of ``python -m bench.cachewise``, computed if there are none."""
    return headline("agents-p99", "P99")
