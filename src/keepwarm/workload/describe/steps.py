"""A figure that changes at points in time and stays what it is between them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Change(NamedTuple):
    """At ``time_s`` the figure rises by ``by``, or falls."""

    time_s: float
    by: int


class Steps:
    """A figure from ``start_s`` to ``end_s``, which is after it; it is 0 before the first change."""

    def __init__(self, changes: Iterable[Change], start_s: float, end_s: float) -> None:
        given = [Change(start_s, 0), *changes]
        times = np.array([change.time_s for change in given], dtype=np.float64)
        self._times_s, place = np.unique(times, return_inverse=True)
        rises = np.zeros(len(self._times_s), dtype=np.int64)
        np.add.at(rises, place, np.array([change.by for change in given], dtype=np.int64))
        self._values: npt.NDArray[np.int64] = np.cumsum(rises)
        inside = (self._times_s > start_s) & (self._times_s < end_s)
        edges = np.concatenate(([start_s], self._times_s[inside], [end_s]))
        self._lengths_s = np.diff(edges)
        self._between = self.at(edges[:-1])
        self._length_s = end_s - start_s

    def at(self, times_s: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """The figure at each of these times, changes at that time included."""
        place = np.searchsorted(self._times_s, times_s, side="right") - 1
        return np.where(place >= 0, self._values[np.maximum(place, 0)], 0)

    @property
    def peak(self) -> int:
        """The largest it becomes, ever so short."""
        return int(self._values.max(initial=0))

    @property
    def mean(self) -> float:
        """Over time."""
        return float((self._between * self._lengths_s).sum() / self._length_s)

    def share_above(self, limit: int) -> float:
        """Of the time, that in which it is larger than ``limit``."""
        return float(self._lengths_s[self._between > limit].sum() / self._length_s)
