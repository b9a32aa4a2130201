"""One number for each distinct block of a trace read in parts, in order of first appearance.

As one hash table over all hashes would give, without holding it: hashes are random numbers, so they are gone
through in ranges of equal size, each with a table of its own. What stays is 4 bytes a distinct block.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keepwarm.cache.parts import Parts
from keepwarm.cache.places import Ids, Place, drop_pages

BYTES_PER_HASH = 80
"""Of a range that is gone through at a time: its hashes, their copy, and the table while it grows."""

BYTES_PER_ID = 4
"""Of each distinct block, in the table of their numbers."""

_STEP_BLOCKS = 1 << 20


class Numbered(NamedTuple):
    """Ids of all blocks in file order, in pieces to be gone through once, and how many there are."""

    distinct_blocks: int
    pieces: Iterator[Ids]


def numbered(parts: Parts, place: Place, *, most_hashes: int | None = None) -> Numbered:
    """Number the blocks of all ``parts``; some ``most_hashes`` hashes are looked at together, all if None.

    Raises OSError: there is no room in ``place``.
    """
    bounds = np.concatenate([[0], np.cumsum(parts.hash_counts, dtype=np.int64)]).tolist()
    ranges = -(-bounds[-1] // most_hashes) if most_hashes else 1
    if ranges == 1:  # one table numbers values as they come
        hashes = [parts.hashes(index) for index in range(len(parts.hash_counts))]
        interned = pa.array(np.concatenate(hashes)).dictionary_encode()
        numbers = interned.indices.to_numpy()
        pieces = (
            numbers[start:stop][parts.codes(index)] for index, (start, stop) in enumerate(pairwise(bounds))
        )
        return Numbered(len(interned.dictionary), pieces)
    slots = place.blank(bounds[-1])
    distinct = 0
    for index in range(ranges):
        distinct += _fill(
            slots, parts, bounds, _first_hash(index, ranges), _first_hash(index + 1, ranges), distinct
        )
    return Numbered(distinct, _pieces(slots, parts, bounds, distinct))


def _first_hash(index: int, ranges: int) -> int:
    return -(-(index << 64) // ranges)


def _fill(slots: Ids, parts: Parts, bounds: list[int], low: int, stop: int, base: int) -> int:
    """Give the hashes of a range slots from ``base`` on; returns how many are distinct."""
    inside, found = [], []
    for index in range(len(parts.hash_counts)):
        hashes = parts.hashes(index)
        places = np.flatnonzero((hashes >= np.uint64(low)) & (hashes <= np.uint64(stop - 1)))
        inside.append(places + bounds[index])
        found.append(hashes[places])
    hashes = np.concatenate(found)
    found.clear()
    interned = pa.array(hashes).dictionary_encode()
    slots[np.concatenate(inside)] = interned.indices.to_numpy() + np.int32(base)
    drop_pages(slots)
    return len(interned.dictionary)


def _pieces(slots: Ids, parts: Parts, bounds: list[int], distinct: int) -> Iterator[Ids]:
    numbers = np.full(distinct, -1, dtype=np.int32)
    seen = 0
    for index in range(len(parts.hash_counts)):
        mine = slots[bounds[index] : bounds[index + 1]]
        new = mine[numbers[mine] < 0]  # no slot is in a part twice
        numbers[new] = np.arange(seen, seen + len(new), dtype=np.int32)
        seen += len(new)
        yield numbers[mine][parts.codes(index)]
        drop_pages(slots)


def reordered(
    ids: Ids, starts: npt.NDArray[np.int64], order: npt.NDArray[np.int64], distinct_blocks: int
) -> Iterator[Ids]:
    """The ids of requests in another order, numbered anew by first appearance in it; in pieces."""
    numbers = np.full(distinct_blocks, -1, dtype=np.int32)
    lengths = np.diff(starts)[order]
    stops = np.cumsum(lengths)
    seen = begin = 0
    while begin < len(order):
        done = stops[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(stops, done + _STEP_BLOCKS, side="right")))
        within = np.arange(stops[end - 1] - done) + np.repeat(
            starts[order[begin:end]] - (stops[begin:end] - lengths[begin:end] - done), lengths[begin:end]
        )
        mine = ids[within]
        new, first = np.unique(mine[numbers[mine] < 0], return_index=True)
        numbers[new[np.argsort(first)]] = np.arange(seen, seen + len(new), dtype=np.int32)
        seen += len(new)
        yield numbers[mine]
        drop_pages(ids)
        begin = end
