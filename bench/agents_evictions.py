"""Evicted blocks of agent sessions, simulated: FCFS with LRU against the active set, started together."""

from __future__ import annotations

from bench.cachewise.headline import headline
from bench.harness import Result

TARGET = "≥ 4×"


def run() -> Result:
    """From the rows of ``python -m bench.cachewise``, computed if there are none."""
    return headline("agents-evictions", "evictions")
