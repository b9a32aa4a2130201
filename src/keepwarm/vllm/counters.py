"""Counters of one engine process, in a memory-mapped file that the API server reads when it is scraped.

The engine counts in a list of its own and copies it into the file, 64-bit words, whenever requests end or
faults happen, and now and then between: nothing is locked or sent, and no thread runs. The API server, or
any of several, sums the files of a directory. It works whether or not ``PROMETHEUS_MULTIPROC_DIR`` is set.
Without a directory the words are private memory and nobody sees them.
"""

from __future__ import annotations

import mmap
import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

DIRECTORY = "COMPUTECACHE_COUNTERS_DIR"  # made by the first process of a server, inherited by the others
SUFFIX = ".computecache"

FAULT_KINDS = ("allocate", "free", "hit", "evict", "cache", "reset", "order", "pinned", "slow")
EVICTION_CLASSES = ("unhashed", "never_hit", "hit")
MODES = ("lru", "active")
RULES = ("boundary", "window")
# Upper bounds in ns of the histogram of decision times; a last bucket holds the rest.
BOUNDS_NS = (
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    5_000_000,
    20_000_000,
)

_LAYOUT = 1  # first word of a file: files of other layouts are not read
_NAMES = (
    "layout",
    "decisions",
    "reordered_decisions",
    "demoted_blocks",
    "scanned_blocks",
    "evicted_then_requested_tokens",
    "tripped",
    "mode",  # 1 + index in MODES, 0 before a pool is there
    "rule",  # 1 + index in RULES
    "scan_limit",
    "protected_blocks",
    "decision_time_ns",
    "by_session",  # 1 if CacheWise names the victims
    *(f"fault_{kind}" for kind in FAULT_KINDS),
    *(f"evicted_{name}" for name in EVICTION_CLASSES),
    *(f"decisions_up_to_{bound}_ns" for bound in (*BOUNDS_NS, "any")),
)
SLOT = {name: index for index, name in enumerate(_NAMES)}
UNHASHED, NEVER_HIT, HIT = (SLOT[f"evicted_{name}"] for name in EVICTION_CLASSES)
REORDERED = SLOT["reordered_decisions"]
_SIZE = 8 * len(_NAMES)
_DECISION_TIME = SLOT["decision_time_ns"]
_FIRST_BUCKET = SLOT[f"decisions_up_to_{BOUNDS_NS[0]}_ns"]
_MASK = (1 << 64) - 1


class Counters:
    """Counts by name, or in ``words`` by slot. Only the thread that schedules writes."""

    def __init__(self, shared: memoryview) -> None:
        self._shared = shared
        self.words = [0] * len(_NAMES)
        self.times_ns: list[int] = []  # of searches for blocks to move, not counted yet
        self.on_read: list[Callable[[], None]] = []  # bring words up to date; they never raise
        self.set("layout", _LAYOUT)

    def publish(self) -> None:
        """Let readers see the counts as they are now. O(words + times since the last time)."""
        self._count_rest()
        self._shared[:] = memoryview(array("Q", self.words))

    def add(self, name: str, amount: int = 1) -> None:
        """Count, and publish."""
        slot = SLOT[name]
        self.words[slot] = (self.words[slot] + amount) & _MASK
        self.publish()

    def set(self, name: str, value: int) -> None:
        """Set, 0 for negative values, and publish."""
        self.words[SLOT[name]] = min(max(value, 0), _MASK)
        self.publish()

    def get(self, name: str) -> int:
        """O(times since the last time)."""
        self._count_rest()
        return self.words[SLOT[name]]

    def read(self) -> dict[str, int]:
        """By name; one look for them all. O(words + times since the last time)."""
        self._count_rest()
        return dict(zip(_NAMES, self.words, strict=True))

    def _count_rest(self) -> None:
        for bring_up_to_date in self.on_read:
            bring_up_to_date()
        times_ns, words = self.times_ns, self.words
        if times_ns:
            words[_DECISION_TIME] += sum(times_ns)
            for time_ns in times_ns:
                words[_FIRST_BUCKET + bisect_left(BOUNDS_NS, time_ns)] += 1
            times_ns.clear()


def private_counters() -> Counters:
    """Counters that only this process sees."""
    return Counters(memoryview(bytearray(_SIZE)).cast("Q"))


def shared_counters(directory: Path) -> Counters:
    """Counters in a new file of this process, seen by readers of ``directory``. Raises ``OSError``."""
    path = directory / f"{os.getpid()}{SUFFIX}"
    with path.open("wb+") as file:
        file.truncate(_SIZE)
        return Counters(memoryview(mmap.mmap(file.fileno(), _SIZE)).cast("Q"))


class Snapshot(NamedTuple):
    """The counters of one engine as they were read."""

    values: dict[str, int]

    @property
    def mode(self) -> str | None:
        """None before the engine has made a pool."""
        return MODES[self.values["mode"] - 1] if self.values["mode"] else None

    @property
    def is_by_session(self) -> bool:
        """Whether it is CacheWise's, not ComputeCache's."""
        return bool(self.values["by_session"])

    @property
    def rule(self) -> str | None:
        """None before the engine has made a pool."""
        return RULES[self.values["rule"] - 1] if self.values["rule"] else None


def read_snapshots(directory: Path) -> Iterator[Snapshot]:
    """One for each engine that wrote there, in order of file names; what cannot be read is left out."""
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        try:
            content = path.read_bytes()
        except OSError:
            continue
        if len(content) == _SIZE:
            values = dict(zip(_NAMES, memoryview(content).cast("Q"), strict=True))
            if values["layout"] == _LAYOUT:
                yield Snapshot(values)
