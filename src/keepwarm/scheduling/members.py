"""The live sessions of a server: what each wants of its memory, and which of them are in the active set.

A session is live while a request of it waits or runs, and for ``LIVE_IDLE_S`` after the last one ended. It
is active or paused; what is active, or still served although it was paused, takes room in memory.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Generic

from keepwarm.policies.sessions import SessionId
from keepwarm.scheduling.base import Server, T
from keepwarm.scheduling.footprints import GROWTH_TOKENS, Footprint
from keepwarm.scheduling.sessions import SessionTable

LIVE_IDLE_S = 600.0
MOST_IDLE = 10_000  # sessions


@dataclass(slots=True, eq=False)
class Member(Generic[T]):
    """A live session. ``waiting`` are its requests that were not admitted yet, by arrival.

    ``in_service``: requests admitted and not over, preempted ones too. ``served``: one ended since it became
    active. ``room_blocks``: what is set aside for it.
    """

    id: SessionId
    footprint: Footprint = field(default_factory=Footprint)
    room_blocks: int = 0
    waiting: dict[T, None] = field(default_factory=dict)
    in_service: int = 0
    active: bool = False
    served: bool = False
    idle_since_s: float = 0.0

    @property
    def is_idle(self) -> bool:
        """Nothing of it waits or runs."""
        return not self.waiting and not self.in_service


class Members(Generic[T]):
    """Live sessions by id. Each event is O(1), or the logarithm of a prompt's blocks; nothing raises."""

    def __init__(self, server: Server, sessions: SessionTable) -> None:
        self._server = server
        self._sessions = sessions
        self._members: dict[SessionId, Member[T]] = {}
        self._just_idle: dict[SessionId, Member[T]] = {}
        self._idle: OrderedDict[SessionId, Member[T]] = OrderedDict()  # longest idle first
        self.resting: OrderedDict[SessionId, Member[T]] = OrderedDict()  # idle and active, longest idle first
        self.active: OrderedDict[SessionId, Member[T]] = OrderedDict()  # longest active first
        self.live_blocks = 0  # that all of them want
        self.context_blocks = 0  # the same without room to grow
        self.active_blocks = 0
        self.leaving_blocks = 0  # of those paused that are still served

    def __len__(self) -> int:
        return len(self._members)

    def of(self, ticket: T) -> Member[T]:
        """Whose request it is; KeyError if none of its session is there."""
        return self._members[ticket.session]

    def asks(self, ticket: T) -> Member[T]:
        """A request arrived and waits. Mutates."""
        member = self._members.get(ticket.session)
        if member is None:
            member = self._members[ticket.session] = Member(ticket.session)
        else:
            self._uncount(member)
        member.footprint.asks(ticket, alone=member.is_idle)
        member.waiting[ticket] = None
        self._idle.pop(member.id, None)
        self.resting.pop(member.id, None)
        self._count(member)
        self._mark(member)
        return member

    def admitted(self, ticket: T) -> None:
        """It waited and runs. Mutates."""
        member = self._members[ticket.session]
        self._uncount(member)
        member.waiting.pop(ticket, None)
        member.in_service += 1
        self._count(member)

    def over(self, ticket: T, now_s: float, *, was_admitted: bool, served: bool) -> None:
        """It ended, or was given up. Mutates."""
        member = self._members[ticket.session]
        self._uncount(member)
        member.waiting.pop(ticket, None)
        member.in_service -= was_admitted
        member.served |= served
        member.footprint.ended(ticket)
        if member.is_idle:
            member.idle_since_s = now_s
            self._idle[member.id] = member
            if member.active:
                self.resting[member.id] = member
            self._just_idle[member.id] = member
        self._count(member)

    def fits(self, member: Member[T], *, leaving_too: bool = True) -> bool:
        """Whether there is room for it; ``leaving_too``: beside what is paused and still served."""
        taken = self.active_blocks + (self.leaving_blocks if leaving_too else 0)
        return not taken or taken + member.room_blocks <= self._server.capacity_blocks

    def would_fit_without_resting(self, member: Member[T]) -> bool:
        """Whether there is room for it once all that rest are paused. O(resting)."""
        resting_blocks = sum(other.room_blocks for other in self.resting.values())
        taken = self.active_blocks + self.leaving_blocks - resting_blocks
        return taken + member.room_blocks <= self._server.capacity_blocks

    def activate(self, member: Member[T]) -> None:
        """It may be served from here on. Mutates."""
        self._uncount(member)
        member.active, member.served = True, False
        self.active[member.id] = member
        self._count(member)
        self._mark(member)

    def pause(self, member: Member[T]) -> None:
        """None of its requests that wait may be admitted; those that run go on. Mutates."""
        self._uncount(member)
        member.active = False
        del self.active[member.id]
        self.resting.pop(member.id, None)
        self._count(member)
        self._mark(member)

    def settle(self, now_s: float) -> None:
        """Read what the table knows by now of those that just became idle; forget who is gone. Mutates."""
        for member in self._just_idle.values():
            known = self._sessions.get(member.id)
            if not member.is_idle or known is None:
                continue
            self._uncount(member)
            member.footprint.rests(known.context_blocks)
            self._count(member)
            if known.finished:
                self._forget(member)
        self._just_idle.clear()
        while self._idle:
            member = next(iter(self._idle.values()))
            if now_s - member.idle_since_s <= LIVE_IDLE_S and len(self._idle) <= MOST_IDLE:
                break
            self._forget(member)

    def _forget(self, member: Member[T]) -> None:
        self._uncount(member)
        del self._members[member.id], self._idle[member.id]
        self.active.pop(member.id, None)
        self.resting.pop(member.id, None)

    def _mark(self, member: Member[T]) -> None:
        known = self._sessions.get(member.id)
        if known is not None:
            known.paused = not member.active

    def _uncount(self, member: Member[T]) -> None:
        self._add(member, -1)

    def _count(self, member: Member[T]) -> None:
        capacity, growth = self._server.capacity_blocks, -(-GROWTH_TOKENS // self._server.block_size)
        member.room_blocks = min(member.footprint.blocks + growth, capacity)
        self._add(member, 1)

    def _add(self, member: Member[T], sign: int) -> None:
        self.live_blocks += sign * member.room_blocks
        self.context_blocks += sign * member.footprint.blocks
        if member.active:
            self.active_blocks += sign * member.room_blocks
        elif member.in_service:
            self.leaving_blocks += sign * member.room_blocks
