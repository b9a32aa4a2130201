"""Ranks of sessions out of thin air."""

from __future__ import annotations

import zlib

from keepwarm.policies.base import VictimOrder
from keepwarm.policies.sessions import ReuseRank, SessionId, SessionRanks, SessionVictimOrder, Tier


class Scattered:
    """Another rank for each session, always the same one; some sessions share theirs."""

    def rank(self, session: SessionId) -> ReuseRank:
        number = zlib.crc32(session.encode())
        return ReuseRank(Tier(number % len(Tier)), float(number // 8 % 2))


class Equal:
    """Nothing is known of anybody."""

    def rank(self, session: SessionId) -> ReuseRank:
        return ReuseRank(Tier.TOOL, 0.0)


class Told(dict[str, ReuseRank]):
    """What a test says; ``asked`` counts."""

    asked = 0

    def rank(self, session: SessionId) -> ReuseRank:
        self.asked += 1
        return self[session]


def with_ranks(policy: type[SessionVictimOrder]) -> type[VictimOrder]:
    """The same policy, made from a capacity alone."""

    def init(self: SessionVictimOrder, capacity_blocks: int, ranks: SessionRanks | None = None) -> None:
        policy.__init__(self, capacity_blocks, ranks or Scattered())

    body = {"__init__": init, "__module__": policy.__module__, "__doc__": policy.__doc__}
    return type(policy.__name__, (policy,), body)
