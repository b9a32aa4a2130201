"""A set of small integers that finds its largest member by looking at a few words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_BITS = 5  # 32 members a word: signed arithmetic stays exact
_MASK = 31


class Bitmap(NamedTuple):
    """Bit ``m & 31`` of ``words[m >> 5]``: ``m`` is in the set; ``summary`` has the words that are not 0."""

    words: npt.NDArray[np.int64]
    summary: npt.NDArray[np.int64]


def new_bitmap(size: int) -> Bitmap:
    """An empty set of integers below ``size``."""
    words = (size >> _BITS) + 1
    return Bitmap(np.zeros(words, dtype=np.int64), np.zeros((words >> _BITS) + 1, dtype=np.int64))


def add_member(bitmap: Bitmap, member: int) -> None:
    """Put it into the set."""
    word = member >> _BITS
    bitmap.words[word] |= 1 << (member & _MASK)
    bitmap.summary[word >> _BITS] |= 1 << (word & _MASK)


def remove_member(bitmap: Bitmap, member: int) -> None:
    """Take it out of the set, if it is in there."""
    word = member >> _BITS
    bitmap.words[word] &= ~(1 << (member & _MASK))
    if bitmap.words[word] == 0:
        bitmap.summary[word >> _BITS] &= ~(1 << (word & _MASK))


def largest_member(bitmap: Bitmap, limit: int) -> int:
    """The largest member; none is above ``limit``. -1 if there is none."""
    at = limit >> (2 * _BITS)
    while at >= 0:
        if bitmap.summary[at]:
            word = (at << _BITS) + floor_log2(bitmap.summary[at])
            return (word << _BITS) + floor_log2(bitmap.words[word])
        at -= 1
    return -1


def floor_log2(value: int) -> int:
    """Of a positive integer, exact over 63 bits."""
    result = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if value >> shift:
            value >>= shift
            result += shift
    return result
