"""A survival curve, and what it says of a call that has run for a while."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence


class Curve:
    """The share S(x) of calls that run longer than x seconds: a step function, known up to ``end_s``.

    ``times_s`` are where it drops, rising; ``survival`` what is left from there on; before the first it is 1.
    ``beyond_s`` is what a call that gets to ``end_s`` is expected to run on for: calls that were cut off have
    no end, and without it they would look as if they all ended at the cut.
    """

    __slots__ = ("_areas", "beyond_s", "end_s", "samples", "survival", "times_s")

    def __init__(
        self,
        times_s: Sequence[float],
        survival: Sequence[float],
        *,
        end_s: float,
        beyond_s: float,
        samples: int,
    ) -> None:
        self.times_s = tuple(times_s)
        self.survival = tuple(survival)
        self.end_s = end_s
        self.beyond_s = beyond_s
        self.samples = samples
        self._areas = self._suffix_areas()

    def remaining_s(self, elapsed_s: float) -> float | None:
        """E[T − e | T > e] = (1/S(e)) ∫ S over (e, ∞), above 0; None from ``end_s`` on. O(log points).

        Beyond ``end_s`` the integral is S(end) · ``beyond_s``.
        """
        if not elapsed_s < self.end_s:
            return None
        elapsed_s = max(elapsed_s, 0.0)
        at = bisect_right(self.times_s, elapsed_s)
        left = self.survival[at - 1] if at else 1.0
        if left <= 0.0:
            return None
        until_s = self.times_s[at] if at < len(self.times_s) else self.end_s
        return (left * (until_s - elapsed_s) + self._areas[at]) / left

    def stays_away(self, elapsed_s: float, longer_s: float) -> float | None:
        """P(T − e > l | T > e) = S(e + l) / S(e); None from ``end_s`` on. O(log points).

        Past ``end_s`` S is what is left there: an upper bound.
        """
        if not elapsed_s < self.end_s:
            return None
        left = self._share(elapsed_s)
        return self._share(elapsed_s + longer_s) / left if left > 0.0 else None

    def _share(self, at_s: float) -> float:
        passed = bisect_right(self.times_s, at_s)
        return self.survival[passed - 1] if passed else 1.0

    def _suffix_areas(self) -> tuple[float, ...]:
        """∫ S from drop number i to infinity; the last entry is what lies beyond ``end_s``."""
        last = self.survival[-1] if self.survival else 1.0
        area = last * self.beyond_s
        areas = [area]
        until_s = self.end_s
        for time_s, left in zip(reversed(self.times_s), reversed(self.survival), strict=True):
            area += left * (until_s - time_s)
            areas.append(area)
            until_s = time_s
        areas.reverse()
        return tuple(areas)
