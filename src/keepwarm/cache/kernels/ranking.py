"""Keep values of ``policies/keep_value.py`` over slots, and a small window of slots sorted by them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm.policies.keep_value import KEEP_WEIGHTS, MOST_AGE_TICKS, MOST_DEPTH_BLOCKS, MOST_HITS

_REUSE, _DEPTH, _AGE, _QUICK_DEMOTE_PENALTY = KEEP_WEIGHTS  # globals are constants to the compiler


class Uses(NamedTuple):
    """``BlockUses``: an entry a slot, and the clock alone. ``half_life_ticks`` 0 is none."""

    half_life_ticks: int
    hits: npt.NDArray[np.uint8]
    used_at: npt.NDArray[np.int64]
    depths_blocks: npt.NDArray[np.int32]
    clock: npt.NDArray[np.int64]


class Window(NamedTuple):
    """Slots and their keep values, highest first; room for as many as are compared at a time."""

    values: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int32]


def new_uses(slots: int, half_life_ticks: int) -> Uses:
    """No block is cached, the clock is at 0."""
    return Uses(
        half_life_ticks,
        np.zeros(slots, dtype=np.uint8),
        np.zeros(slots, dtype=np.int64),
        np.zeros(slots, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


def new_window(scan_limit: int) -> Window:
    """Room for ``scan_limit`` slots."""
    return Window(np.zeros(scan_limit, dtype=np.int64), np.zeros(scan_limit, dtype=np.int32))


def note_cached(uses: Uses, table: npt.NDArray[np.int32], start: int, stop: int) -> None:
    """The ages of ``table[start:stop]`` count from here."""
    clock = uses.clock[0]
    for index in range(start, stop):
        slot = table[index]
        uses.hits[slot] = 0
        uses.used_at[slot] = clock
        uses.depths_blocks[slot] = index + 1


def note_hits(uses: Uses, table: npt.NDArray[np.int32], blocks: int) -> None:
    """The slots ``table[:blocks]`` are hit one after another, a tick each."""
    clock = uses.clock[0]
    uses.clock[0] = clock + blocks
    for index in range(blocks):
        slot = table[index]
        hits = uses.hits[slot]
        if uses.half_life_ticks:
            hits = decayed(uses, hits, clock + index - uses.used_at[slot])
        uses.hits[slot] = min(hits + 1, MOST_HITS)
        uses.used_at[slot] = clock + index + 1


def decayed(uses: Uses, hits: int, age_ticks: int) -> int:
    """What is left of hits when none came for so long."""
    return hits >> min(age_ticks // uses.half_life_ticks, 8)


def keep_value(uses: Uses, slot: int) -> int:
    """Higher is better kept."""
    age_ticks = int(uses.clock[0] - uses.used_at[slot])
    hits = int(uses.hits[slot])
    if uses.half_life_ticks:
        hits = decayed(uses, hits, age_ticks)
    value = hits * _REUSE + min(int(uses.depths_blocks[slot]), MOST_DEPTH_BLOCKS) * _DEPTH
    value -= min(age_ticks, MOST_AGE_TICKS) * _AGE
    return value if hits else value - _QUICK_DEMOTE_PENALTY


def insert_ranked(window: Window, ranked: int, slot: int, value: int) -> None:
    """Sort a slot in among the first ``ranked``; of equal values the last one in is the higher."""
    values, slots = window.values, window.slots
    at = ranked
    while at > 0 and values[at - 1] <= value:
        values[at] = values[at - 1]
        slots[at] = slots[at - 1]
        at -= 1
    values[at] = value
    slots[at] = slot
