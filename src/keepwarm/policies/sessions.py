"""Victim orders that know whose blocks they hold: what they are asked and told beside ``base.py``.

Blocks of a session whose next request is far away go before those of one that is about to come back. How far
away is not the policy's to know: whoever runs it hands in ``SessionRanks``.
"""

from __future__ import annotations

import abc
from enum import IntEnum
from typing import NamedTuple, NewType, Protocol

from keepwarm.policies.base import VictimOrder

SessionId = NewType("SessionId", str)  # of one conversation or agent run


class Tier(IntEnum):
    """What a session is doing; the higher, the sooner its free blocks are given up."""

    SERVED = 0  # a request of it waits or runs
    TOOL = 1  # a tool runs, or nothing is known of what it does
    HUMAN = 2  # a person has to answer
    PAUSED = 3  # taken out of the active set
    FINISHED = 4  # nothing comes any more


class ReuseRank(NamedTuple):
    """When the blocks of a session are expected to be used again: the largest goes first.

    ``tau_s`` orders sessions of one tier. One of unknown τ has the seconds it has been idle for in its place,
    so that sessions of which nothing is known go least recently used first.
    """

    tier: Tier
    tau_s: float


class SessionRanks(Protocol):
    """What is known of sessions right now."""

    def rank(self, session: SessionId) -> ReuseRank:
        """Of any session, one never heard of too. Does not mutate; O(1); never raises."""
        ...


class SessionVictimOrder(VictimOrder):
    """A victim order that is told on whose behalf it is called."""

    def __init__(self, capacity_blocks: int, ranks: SessionRanks) -> None:
        super().__init__(capacity_blocks)
        self.ranks = ranks

    @abc.abstractmethod
    def serve(self, session: SessionId) -> None:
        """What is told from here on is on behalf of this session. Mutates; O(1); never raises."""

    @abc.abstractmethod
    def begin_step(self) -> None:
        """A step of the engine begins; ranks may have changed. Mutates; O(1); never raises."""

    @abc.abstractmethod
    def reconsider(self, session: SessionId) -> None:
        """A session's rank changed by much, say because it finished. Mutates; O(1); never raises."""
