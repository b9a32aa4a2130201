"""Blocks by the sessions that were served them, and the place of each group in the order of victims."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from keepwarm.policies.base import BlockId
from keepwarm.policies.sessions import SessionId, SessionRanks, Tier

MOST_OWNERS = 8


class Owners(NamedTuple):
    """Of a block, who joined last at the end; ``crowded``: there are more than can be remembered."""

    sessions: tuple[SessionId, ...]
    crowded: bool = False

    def joined_by(self, session: SessionId) -> Owners:
        sessions = (*self.sessions, session)
        return Owners(sessions[-MOST_OWNERS:], crowded=len(sessions) > MOST_OWNERS)


class Place(NamedTuple):
    """A rank turned round, so that the smallest goes first."""

    minus_tier: int
    minus_tau_s: float


_UNKNOWN = Place(-Tier.TOOL, 0.0)  # where ranks fail: one for all, so LRU order
_NONE = Place(0, float("nan"))
_CROWD = Place(1, 0.0)  # behind every tier
_CROWD_GONE = Place(-Tier.TOOL, float("-inf"))


@dataclass(slots=True, eq=False)
class Group:
    """Blocks of the same owners. ``blocks`` of them are in use or free; version 0 is in the heap nowhere."""

    owners: Owners
    blocks: int = 0
    free: OrderedDict[BlockId, int] = field(default_factory=OrderedDict)  # when each was freed
    place: Place = _UNKNOWN
    version: int = 0

    def first_freed(self) -> int:
        """When the first of its free blocks was freed."""
        return next(iter(self.free.values()))


class Reading:
    """The ranks of one moment, each asked for once. ``faults``: sessions of which no rank could be had."""

    def __init__(self, ranks: SessionRanks) -> None:
        self.faults = 0
        self._ranks = ranks
        self._places: dict[SessionId, Place] = {}

    def place_of(self, group: Group) -> Place:
        """That of the owner who comes back first."""
        place = max(map(self._place_of, group.owners.sessions))
        if not group.owners.crowded:
            return place
        return _CROWD_GONE if place.minus_tier == -Tier.FINISHED else _CROWD

    def _place_of(self, session: SessionId) -> Place:
        place = self._places.get(session)
        if place is None:
            place = self._places[session] = self._read(session)
        return place

    def _read(self, session: SessionId) -> Place:
        try:
            tier, tau_s = self._ranks.rank(session)
            place = Place(-int(tier), -float(tau_s))
        except Exception:  # noqa: BLE001 - whoever predicts may fail; the server must not
            place = _NONE
        if place.minus_tau_s == place.minus_tau_s:
            return place
        self.faults += 1
        return _UNKNOWN
