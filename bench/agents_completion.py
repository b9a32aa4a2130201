"""Session completion of agents, simulated: FCFS with LRU against the active set, started together."""

from __future__ import annotations

from bench.cachewise.headline import headline
from bench.harness import Result

TARGET = "≥ 4.2× at N = 30, ≥ 3.5× at 40"


def run() -> Result:
    """From the rows of ``python -m bench.cachewise``, computed if there are none."""
    return headline("agents-completion", "completion")
