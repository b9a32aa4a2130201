"""What CacheWise counts in one engine process, in a file that the API server reads when it is scraped.

The way of ``keepwarm.vllm.counters``: 64-bit words, copied into a memory-mapped file now and then by the only
thread that writes; no lock, no thread, nothing sent. The files lie in the same directory.
"""

from __future__ import annotations

import mmap
import os
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path

SUFFIX = ".cachewise"
SCHEDULING_MODES = ("fcfs", "cachewise", "active-set")
SERVING_FAULT_KINDS = ("order", "stalled", "sessions", "step", "model", "reuse")
HINT_OUTCOMES = ("accepted", "refused", "dropped", "applied", "unknown", "late")
# Predicted against real time to reuse. When the tool call was known, and how its prediction ended.
PREDICTION_OUTCOMES = {
    "meanwhile": ("early", "middle", "late", "finished", "away"),
    "afterwards": ("early", "middle", "late"),
}
UNPREDICTED_REASONS = ("unknown", "human")
# Upper bounds of histograms; a last bucket holds the rest.
RATIO_BOUNDS = (0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 2.0, 3.0, 5.0, 10.0)
SECONDS_BOUNDS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
REUSE_HISTOGRAMS = {
    "predicted_seconds": SECONDS_BOUNDS,
    "real_seconds": SECONDS_BOUNDS,
    "ratio": RATIO_BOUNDS,
}

_LAYOUT = 2  # first word of a file: files of other layouts are not read
COUNTED = {
    "admissions": "Requests admitted by the queue order",
    "reordered_admissions": "Requests admitted while one that had come earlier waited",
    "held_back_steps": "Steps in which the order held back all that still waited",
    "probes": "Blocks looked up, without a trace, to see what waiting requests would hit",
    "sessions_forgotten": "Sessions dropped from memory because there were too many",
    "sessions_by_prefix": "Requests that belong to a session by their prefix, because they named none",
    "malformed_session_ids": "Requests whose session id could not be used",
}
_GAUGES = (
    "put_away",
    "scheduling",
    "sessions_known",
    "sessions_active",
    "sessions_paused",
    "prefill_ps",
    "predictions_open",
)
NAMES = (
    "layout",
    *COUNTED,
    *_GAUGES,
    *(f"fault_{kind}" for kind in SERVING_FAULT_KINDS),
    *(f"hints_{outcome}" for outcome in HINT_OUTCOMES),
    *(f"unpredicted_{reason}" for reason in UNPREDICTED_REASONS),
    *(f"{known}_{outcome}" for known, outcomes in PREDICTION_OUTCOMES.items() for outcome in outcomes),
    *(
        f"{known}_{histogram}_{slot}"
        for known in PREDICTION_OUTCOMES
        for histogram, bounds in REUSE_HISTOGRAMS.items()
        for slot in ("millionths", *range(len(bounds) + 1))  # the sum, and each bucket by itself
    ),
)
_SLOT = {name: index for index, name in enumerate(NAMES)}
_SIZE = 8 * len(NAMES)
_MASK = (1 << 64) - 1


class ServingCounters:
    """Counts by name. Only the thread that schedules writes."""

    def __init__(self, shared: memoryview) -> None:
        self._shared = shared
        self._words = [0] * len(NAMES)
        self._words[0] = _LAYOUT

    def add(self, name: str, amount: int = 1) -> None:
        """Count; seen by readers once published. O(1)."""
        slot = _SLOT[name]
        self._words[slot] = (self._words[slot] + amount) & _MASK

    def set(self, name: str, value: int) -> None:
        """Set, 0 for negative values; seen by readers once published. O(1)."""
        self._words[_SLOT[name]] = min(max(value, 0), _MASK)

    def get(self, name: str) -> int:
        """As it is now. O(1)."""
        return self._words[_SLOT[name]]

    def publish(self) -> None:
        """Let readers see the counts as they are now. O(words)."""
        self._shared[:] = memoryview(array("Q", self._words))


def private_serving_counters() -> ServingCounters:
    """Counters that only this process sees."""
    return ServingCounters(memoryview(bytearray(_SIZE)).cast("Q"))


def shared_serving_counters(directory: Path) -> ServingCounters:
    """Counters in a new file of this process, seen by readers of ``directory``. Raises ``OSError``."""
    with (directory / f"{os.getpid()}{SUFFIX}").open("wb+") as file:
        file.truncate(_SIZE)
        return ServingCounters(memoryview(mmap.mmap(file.fileno(), _SIZE)).cast("Q"))


def read_serving_counters(directory: Path) -> Iterator[Mapping[str, int]]:
    """By name, of each engine that wrote there, in order of file names; what cannot be read is left out."""
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        try:
            content = path.read_bytes()
        except OSError:
            continue
        if len(content) == _SIZE:
            values = dict(zip(NAMES, memoryview(content).cast("Q"), strict=True))
            if values["layout"] == _LAYOUT:
                yield values
