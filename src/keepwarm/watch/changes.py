"""A sequential test for a change of a call site's hit rate: a two-sided CUSUM on hit shares of requests.

The first requests are left out while the cache warms up, the next ones teach mean and deviation. After
that each share x becomes z = (x - mean) / deviation, cut at ``clip`` so that one odd request says little:

    down = max(0, down - z - allowance)        up = max(0, up + z - allowance)

A sum at ``threshold`` is a change. Until then mean and deviation follow slowly, so that a drift over the
day is none. docs/design/online-feed.md says why these numbers, and how often they are wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

Direction = Literal["down", "up"]
DIRECTIONS: tuple[Direction, ...] = ("down", "up")


class Parameters(NamedTuple):
    """Counts are of requests; ``allowance``, ``threshold`` and ``clip`` are in deviations."""

    skipped: int = 10  # of a new call site: its first requests find an empty cache
    learned: int = 50  # the reference's mean and deviation at first
    allowance: float = 0.5  # half of the smallest shift that is looked for
    threshold: float = 12.0
    clip: float = 3.0
    least_deviation: float = 0.1  # shifts below 0.05 are nothing to be woken for, however steady the site
    memory: int = 500  # how slowly the reference follows
    accepted: int = 2_000  # requests after which a change that stays is the new reference


USUAL = Parameters()


class ChangeTest:
    """Fed one share at a time; scores are sums by the threshold: 1 and more is a change that lasts."""

    def __init__(self, parameters: Parameters = USUAL) -> None:
        self.parameters = parameters
        self.changes: dict[Direction, int] = dict.fromkeys(DIRECTIONS, 0)
        self._left = parameters.skipped
        self._learning: list[float] = []
        self._mean: float | None = None
        self._variance = 0.0
        self._sums: dict[Direction, float] = dict.fromkeys(DIRECTIONS, 0.0)
        self._changed: Direction | None = None
        self._since = 0  # requests since the change

    @property
    def reference(self) -> float | None:
        """The mean share that requests are compared with; None while it is learned."""
        return self._mean

    def score(self, direction: Direction) -> float:
        """How near the sum is to the threshold, 0 to 2."""
        return self._sums[direction] / self.parameters.threshold

    def add(self, share: float) -> None:
        """The hit share of the next request, 0 to 1. Mutates."""
        if self._left:
            self._left -= 1
        elif self._mean is None:
            self._learn(share)
        else:
            self._compare(share, self._mean)

    def _learn(self, share: float) -> None:
        self._learning.append(share)
        if len(self._learning) == self.parameters.learned:
            self._mean, self._variance = _moments(self._learning)
            self._learning = []

    def _compare(self, share: float, mean: float) -> None:
        rules = self.parameters
        z = (share - mean) / max(math.sqrt(self._variance), rules.least_deviation)
        z = min(max(z, -rules.clip), rules.clip)
        # Capped, so that the end of a long change is noticed as soon as its beginning was.
        most = 2 * rules.threshold
        self._sums["down"] = min(max(0.0, self._sums["down"] - z - rules.allowance), most)
        self._sums["up"] = min(max(0.0, self._sums["up"] + z - rules.allowance), most)
        changed = next((way for way in DIRECTIONS if self._sums[way] >= rules.threshold), None)
        if changed is None:
            step = 1 / rules.memory
            self._mean = mean + step * (share - mean)
            self._variance = (1 - step) * (self._variance + step * (share - mean) ** 2)
            self._changed = None
            return
        if changed != self._changed:
            self.changes[changed] += 1
            self._changed, self._since = changed, 0
        self._since += 1
        if self._since >= rules.accepted:
            self._accept()

    def _accept(self) -> None:
        self._mean = None
        self._changed = None
        self._sums = dict.fromkeys(DIRECTIONS, 0.0)


def _moments(shares: Sequence[float]) -> tuple[float, float]:
    mean = sum(shares) / len(shares)
    return mean, sum((share - mean) ** 2 for share in shares) / len(shares)
