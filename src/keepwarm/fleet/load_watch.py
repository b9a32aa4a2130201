"""Hot spots: the share of time in which one replica has more than twice the mean load."""

from __future__ import annotations

from heapq import heappop, heappush

HOT_FACTOR = 2.0


class LoadWatch:
    """Loads over time. Replicas tell theirs out of order; what is told is settled once all are past it."""

    def __init__(self, replicas: int) -> None:
        self._loads = [0] * replicas
        self._told: list[tuple[float, int, int, int]] = []
        self._notes = 0
        self._now_s = 0.0
        self._since_s = float("inf")
        self.hot_s = 0.0

    def note(self, at_s: float, replica: int, load_tokens: int) -> None:
        """From ``at_s`` on that is its load. Mutates."""
        heappush(self._told, (at_s, self._notes, replica, load_tokens))
        self._notes += 1

    def begin(self, at_s: float) -> None:
        """Time counts from here on. Mutates."""
        self._since_s = at_s

    def settle(self, until_s: float) -> None:
        """Nothing is told any more of a time before ``until_s``. Mutates."""
        while self._told and self._told[0][0] <= until_s:
            at_s, _, replica, load_tokens = heappop(self._told)
            self._pass(at_s)
            self._loads[replica] = load_tokens

    def end(self, at_s: float) -> float:
        """The share of the time since ``begin``; 0 of no time. Mutates."""
        self.settle(at_s)
        self._pass(at_s)
        return self.hot_s / (at_s - self._since_s) if at_s > self._since_s else 0.0

    def _pass(self, at_s: float) -> None:
        passed_s = at_s - max(self._now_s, self._since_s)
        if passed_s > 0 and max(self._loads) * len(self._loads) > HOT_FACTOR * sum(self._loads):
            self.hot_s += passed_s
        self._now_s = max(self._now_s, at_s)
