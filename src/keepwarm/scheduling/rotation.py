"""Who leaves the active set for those that wait outside, and when: rotation has a price.

A paused request that waited for the share r of its bound lets every resting session be paused whose gap is
longer than 60 s * sqrt(1 - r); past its bound, the session that is active for longest goes whatever its gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import inf, sqrt
from typing import Generic

from keepwarm.scheduling.base import T
from keepwarm.scheduling.members import Member, Members
from keepwarm.scheduling.sessions import SessionTable

MOST_LOOKED_AT = 32  # sessions per check
LIKELY = 0.75  # to pause a session that comes back costs more than to keep one that does not


class Rotation(Generic[T]):
    """Reads members and the table; decides, and leaves the pausing to its owner."""

    def __init__(self, members: Members[T], sessions: SessionTable, patience_s: float) -> None:
        self._members = members
        self._sessions = sessions
        self._patience_s = patience_s

    def long_gone(self, pressure: float, now_s: float) -> list[Member[T]]:
        """Resting sessions whose gap is too long under this pressure, the longest gap first."""
        least_s = self._patience_s * sqrt(1 - min(1.0, pressure))
        gone = [member for member in self._looked_at() if self._stays_away(member, now_s, least_s)]
        return sorted(gone, key=lambda member: -self.gap_s(member, now_s))

    def furthest(self, now_s: float) -> Member[T] | None:
        """The resting session that is expected back last."""
        return max(self._looked_at(), key=lambda member: self.gap_s(member, now_s), default=None)

    def longest_active(self) -> Member[T] | None:
        """The session to be paused whatever its gap: served or without a request since it became active.

        Of those between two requests if there are any, else one that will go on until they end.
        """
        longest = islice(self._members.active.values(), MOST_LOOKED_AT)
        due = [member for member in longest if member.served or member.is_idle]
        return next((member for member in due if not member.in_service), next(iter(due), None))

    def gap_s(self, member: Member[T], now_s: float) -> float:
        """How much longer a resting session stays away; how long it is away where nothing is predicted."""
        elapsed_s = now_s - member.idle_since_s
        known = self._sessions.get(member.id)
        if known is None:
            return elapsed_s
        if known.finished or known.awaits_human:
            return inf
        remaining_s = self._sessions.estimator.remaining_s(member.id, known.call, max(0.0, elapsed_s))
        return elapsed_s if remaining_s is None else remaining_s

    def _stays_away(self, member: Member[T], now_s: float, least_s: float) -> bool:
        """Whether it likely stays away for that long; whether it already is where nothing is predicted."""
        elapsed_s = max(0.0, now_s - member.idle_since_s)
        known = self._sessions.get(member.id)
        if known is None:
            return elapsed_s > least_s
        if known.finished or known.awaits_human:
            return True
        share = self._sessions.estimator.stays_away(member.id, known.call, elapsed_s, least_s)
        return elapsed_s > least_s if share is None else share > LIKELY

    def _looked_at(self) -> Iterator[Member[T]]:
        return islice(self._members.resting.values(), MOST_LOOKED_AT)
