"""Small traces and specs for the tests of sweeps."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Generator, Sequence
from pathlib import Path

from keepwarm.sweep.cells import Group
from keepwarm.sweep.engines.base import Engine
from keepwarm.sweep.plan import planned
from keepwarm.sweep.spec import read_spec
from keepwarm.sweep.work import Outcome

CACHE = """
[[cache]]
traces = ["trace.jsonl"]
policies = ["lru", "belady", "sieve"]
capacity_blocks = [40, 60, 80, 120]
"""
SERVING = """
[[serving]]
traces = ["trace.jsonl"]
scheduling = ["fcfs", "active-set"]
sessions = [2, 4]
seeds = [0, 1]
capacity_tokens = [40960]
"""


def write_trace(path: Path, *, seed: int = 0, requests: int = 60) -> Path:
    """Requests of shared prefixes in blocks of 512 tokens, as Mooncake's are recorded."""
    numbers = random.Random(seed)
    with path.open("w") as file:
        for index in range(requests):
            shared = list(range(numbers.randrange(1, 12)))
            own = [1000 * index + 100 + step for step in range(numbers.randrange(1, 8))]
            blocks = shared + own
            record = {"timestamp": 500 * index, "input_length": 512 * len(blocks) - 5, "output_length": 20}
            file.write(json.dumps(record | {"hash_ids": blocks}) + "\n")
    return path


def write_spec(folder: Path, text: str = CACHE + SERVING) -> Path:
    """A spec beside its trace."""
    if not (folder / "trace.jsonl").exists():
        write_trace(folder / "trace.jsonl")
    path = folder / "spec.toml"
    path.write_text(text)
    return path


def groups_of(folder: Path, text: str = CACHE + SERVING) -> tuple[Group, ...]:
    """What the spec asks for."""
    return planned(read_spec(write_spec(folder, text)))


def kept_of(told: str) -> int:
    """How many of the 12 cells of ``CACHE`` the command found finished, by what it printed."""
    counts = re.match(r"12 cells, simulated: (\d+) computed now, (\d+) kept from before\n", told)
    assert counts, told
    computed, kept = map(int, counts.groups())
    assert computed + kept == 12
    return kept


class Made(Engine):
    """An engine that makes figures up from keys, in any order, and can be stopped at any cell."""

    def __init__(self, order: random.Random | None = None, *, stop_after: int | None = None) -> None:
        self.asked: list[str] = []
        self.lost = 0
        self._order = order
        self._stop_after = stop_after

    def outcomes(self, groups: Sequence[Group]) -> Generator[Outcome, None, None]:
        cells = [cell for group in groups for cell in group.cells]
        if self._order is not None:
            self._order.shuffle(cells)
        for count, cell in enumerate(cells):
            if count == self._stop_after:
                raise KeyboardInterrupt
            self.asked.append(cell.key)
            yield Outcome(cell, {"block_size": 512, "requests": int(cell.key[:8], 16), "hit_rate": 0.5})
