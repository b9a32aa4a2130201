"""An active set of sessions whose contexts fit memory, rotated before anybody waits for too long.

After a study of serving coding agents (docs/design/queue-orders.md has its figures). Plain FCFS while all
live sessions fit. When they do not, only sessions of the active set are served, so that their next request
finds its context still cached; the others are paused and come in by arrival.

1. Bound: the first token is to come within W = gamma times what computing the contexts of all live sessions
   takes, one round of FCFS over a cache that helps nobody; what the own prefill takes goes off the wait.
2. Rotation (``rotation.py``) pauses who is away for long, and past the bound who is active for longest.
3. Inside the set (``lanes.py``): hot requests by fewest missing blocks, cold ones by arrival, both getting
   their share. A request past its bound goes first.
4. A paused session leaves the queue out of turn if its context is still cached, in room that is free or in
   place of one that is away; not while somebody outside is past the bound.
5. If nothing runs, whoever waits first is let in at the cost of the session that is expected back last.

A cold session is let in when its prefill can start, not before: until then the room is better used by those
who have blocks in it. Where blocks come back cheaply from elsewhere, as from host memory, use FCFS instead.

Work per step: a set number of waiters, and every 0.25 s a set number of sessions.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Generic, NamedTuple

from keepwarm.scheduling.arrivals import ArrivalQueue
from keepwarm.scheduling.base import QueueOrder, Server, T
from keepwarm.scheduling.lanes import Lanes
from keepwarm.scheduling.members import Member, Members
from keepwarm.scheduling.priced import Looks
from keepwarm.scheduling.rotation import Rotation
from keepwarm.scheduling.sessions import SessionTable

MOST_HELD_LOOKED_AT = 16  # waiting outside, per check
MOST_FORCED = 64  # sessions paused and let in past the bound, per check


class Tuning(NamedTuple):
    """``gamma`` moves along the front of completion against the slowest requests."""

    gamma: float = 1.1
    patience_s: float = 60.0  # gap that pauses a session when nobody waited yet
    hot_s: float = 2.0
    cold_share: float = 0.75  # of a step's tokens, while hot requests want the rest
    calm_s: float = 30.0  # that everything has to fit before FCFS is back
    check_s: float = 0.25


@dataclass(slots=True, eq=False)
class _Wait(Generic[T]):
    """A waiting request: its place by arrival, and how long it may wait."""

    number: int
    bound_s: float
    member: Member[T]


class ActiveSet(QueueOrder[T]):
    """See above. O(log n) per event and one look per arrival."""

    name = "active-set"
    tuning: ClassVar[Tuning] = Tuning()

    def __init__(self, server: Server, sessions: SessionTable) -> None:
        super().__init__(server, sessions)
        self._looks: Looks[T] = Looks(server)
        self._lanes: Lanes[T] = Lanes(server, self._looks, self.tuning.hot_s, self.tuning.cold_share)
        self._members: Members[T] = Members(server, sessions)
        self._rotation: Rotation[T] = Rotation(self._members, sessions, self.tuning.patience_s)
        self._front: deque[T] = deque()  # preempted
        self._waits: OrderedDict[T, _Wait[T]] = OrderedDict()  # the others, by arrival
        self._held: ArrivalQueue[T] = ArrivalQueue()  # of them, those of paused sessions
        self._deadlines: list[tuple[float, int, T]] = []  # of those in the lanes, and of some that left
        self._running = 0
        self._arrived = 0
        self._now_s = 0.0
        self._check_at_s = 0.0
        self._changed = False
        self._gated = False
        self._fits_since_s: float | None = None  # while gated
        self._pressed = False  # somebody outside is past the bound
        self._first: T | None = None

    @classmethod
    def tuned(cls, tuning: Tuning) -> type[ActiveSet[T]]:
        """The same order with other settings, for ablations."""
        return type(cls.__name__, (cls,), {"tuning": tuning})

    def begin_step(self, now_s: float) -> None:
        """A few comparisons, unless something arrived or ended or a check is due."""
        self._now_s = now_s
        self._first = None
        self._looks.begin_step()
        if self._changed or (self._held and now_s >= self._check_at_s):
            self._check()

    @property
    def prefill_cap_tokens(self) -> int:
        return self._lanes.cap_tokens

    def add(self, ticket: T) -> None:
        """Into the set if its session is in it or may come in, else it waits outside."""
        self._looks.on_arrival(ticket)
        member = self._members.asks(ticket)
        self._arrived += 1
        wait = self._waits[ticket] = _Wait(self._arrived, self._bound_s(ticket), member)
        if self._members.live_blocks > self.server.capacity_blocks:
            self._gated, self._fits_since_s = True, None
        self._enter(ticket, wait)
        if not member.active:
            self._welcome(ticket, member)
        self._touch()

    def put_back(self, ticket: T) -> None:
        """To the very front: it was admitted before all that wait."""
        self._running -= 1
        self._lanes.given_up(ticket)
        self._front.appendleft(ticket)
        self._first = None

    def first(self) -> T | None:
        """The preempted one put back last, else by the rules above. A few looks, once per step and change."""
        if self._first is None:
            self._first = self._choose()
        return self._first

    def remove(self, ticket: T) -> None:
        """Wherever it waits. O(log n), but for the preempted."""
        wait = self._waits.pop(ticket, None)
        if wait is None:
            self._front.remove(ticket)
        else:
            self._leave(ticket, wait)
        self._members.over(ticket, self._now_s, was_admitted=wait is None, served=False)
        self._touch()

    def admitted(self, ticket: T) -> None:
        wait = self._waits.pop(ticket, None)
        if wait is None:
            self._front.remove(ticket)
        else:
            if wait.number in self._held:
                self._held.remove(wait.number)
            self._members.admitted(ticket)
        self._lanes.admitted(ticket, self._now_s)
        self._running += 1
        self._first = None

    def released(self, ticket: T) -> None:
        self._running -= 1
        self._lanes.given_up(ticket)
        self._members.over(ticket, self._now_s, was_admitted=True, served=True)
        self._touch()

    def prefilled(self, ticket: T) -> None:
        self._lanes.prefilled(ticket, self._now_s)
        self._touch()

    def __iter__(self) -> Iterator[T]:
        """The preempted, the hot, the cold, those outside."""
        yield from self._front
        yield from self._lanes
        yield from self._held

    def __len__(self) -> int:
        return len(self._front) + len(self._waits)

    def _bound_s(self, ticket: T) -> float:
        """How long it may wait: its first token is to come within W, with half a server for its prefill."""
        block_s = self._lanes.cold_s_per_block
        round_s = self.tuning.gamma * self._members.context_blocks * block_s
        return max(round_s / 2, round_s - 2 * ticket.missing_blocks * block_s)

    def _touch(self) -> None:
        self._changed = True
        self._first = None

    # Who is in the set

    def _check(self) -> None:
        """Let in who may come; every so often, pause others for those who may not."""
        members, now_s = self._members, self._now_s
        self._changed = False
        members.settle(now_s)
        self._look_at_gate()
        while members.active_blocks > self.server.capacity_blocks:
            surplus = self._rotation.furthest(now_s)
            if surplus is None:
                break
            self._pause(surplus)
        self._let_in()
        if self._held and now_s >= self._check_at_s:
            self._check_at_s = now_s + self.tuning.check_s
            self._rotate()

    def _look_at_gate(self) -> None:
        if not self._gated:
            return
        if self._members.live_blocks > self.server.capacity_blocks:
            self._fits_since_s = None
        elif self._fits_since_s is None:
            self._fits_since_s = self._now_s
        elif self._now_s - self._fits_since_s >= self.tuning.calm_s:
            self._gated = False

    def _rotate(self) -> None:
        pressure = self._most_pressure()
        for member in self._rotation.long_gone(pressure, self._now_s):
            if not self._head_is_due():
                break
            self._pause(member)
            self._let_in()
        self._pressed = self._most_pressure() > 1
        for _ in range(MOST_FORCED):
            if not self._pressed or not self._head_is_due():
                break
            if not self._members.fits(self._head(), leaving_too=False):
                longest = self._rotation.longest_active()
                if longest is None:
                    break
                self._pause(longest)
            elif self._members.fits(self._head()):
                self._activate(self._head())
                self._pressed = self._most_pressure() > 1
            else:
                break  # there will be room when those who leave have been served

    def _most_pressure(self) -> float:
        """Of those that wait outside for longest."""
        return max(map(self._pressure, self._held.oldest(MOST_HELD_LOOKED_AT)), default=0.0)

    def _pressure(self, ticket: T) -> float:
        """Share of its bound that it waited for."""
        return (self._now_s - ticket.arrival_s) / max(self._waits[ticket].bound_s, 1e-9)

    def _head(self) -> Member[T]:
        """Whose request waits outside for longest."""
        return next(self._waits[ticket].member for ticket in self._held.oldest(1))

    def _head_is_due(self) -> bool:
        """Somebody waits outside whose prefill could start now; all of them do while everything fits."""
        return any(
            not self._gated or self._lanes.has_place(ticket, self._waits[ticket].number)
            for ticket in self._held.oldest(1)
        )

    def _let_in(self) -> None:
        """By arrival while there is room; then those out of turn that are still cached."""
        while self._head_is_due() and self._members.fits(self._head()):
            self._activate(self._head())
        if not self._held:
            self._pressed = False
        elif not self._pressed:
            for ticket in list(self._held.oldest(MOST_HELD_LOOKED_AT)):
                member = self._waits[ticket].member
                if not member.active and self._members.fits(member) and self._is_still_hot(ticket):
                    self._activate(member)

    def _is_still_hot(self, ticket: T) -> bool:
        if not self._lanes.is_hot(ticket):
            return False
        return (self._looks.is_fresh(ticket) or self._looks.spend(ticket)) and self._lanes.is_hot(ticket)

    def _welcome(self, ticket: T, member: Member[T]) -> None:
        """A request of a paused session came."""
        out_of_turn = len(self._held) > len(member.waiting)
        if out_of_turn and (self._pressed or not self._lanes.is_hot(ticket)):
            return
        if not self._members.fits(member):
            if not self._lanes.is_hot(ticket) or not self._members.would_fit_without_resting(member):
                return
            while not self._members.fits(member) and (other := self._rotation.furthest(self._now_s)):
                self._pause(other)
        if self._members.fits(member):
            self._activate(member)

    def _activate(self, member: Member[T]) -> None:
        self._members.activate(member)
        for ticket in member.waiting:
            wait = self._waits[ticket]
            self._held.remove(wait.number)
            self._enter(ticket, wait)
        self._first = None

    def _pause(self, member: Member[T]) -> None:
        self._members.pause(member)
        for ticket in member.waiting:
            self._lanes.remove(ticket)
            self._enter(ticket, self._waits[ticket])
        self._first = None

    # Where a request waits, and who is next

    def _enter(self, ticket: T, wait: _Wait[T]) -> None:
        if wait.member.active:
            self._lanes.push(ticket, wait.number)
            heapq.heappush(self._deadlines, (ticket.arrival_s + wait.bound_s, wait.number, ticket))
        else:
            self._held.push(ticket, wait.number)

    def _leave(self, ticket: T, wait: _Wait[T]) -> None:
        if ticket in self._lanes:
            self._lanes.remove(ticket)
        else:
            self._held.remove(wait.number)

    def _choose(self) -> T | None:
        if self._front:
            return self._front[0]
        if not self._waits:
            return None
        if not self._gated:
            return next(iter(self._waits))
        choice = self._overdue() or self._lanes.first()
        if choice is not None or self._running > 0:
            return choice
        if self._held:
            self._make_room()
            choice = self._lanes.first()
        return next(iter(self._waits)) if choice is None else choice

    def _overdue(self) -> T | None:
        """The active request past its bound for longest, unless it has to wait for a cold prefill."""
        deadlines = self._deadlines
        while deadlines and deadlines[0][2] not in self._lanes:
            heapq.heappop(deadlines)
        if not deadlines or deadlines[0][0] > self._now_s:
            return None
        ticket = deadlines[0][2]
        return ticket if self._lanes.may_start(ticket) else None

    def _make_room(self) -> None:
        """Nothing runs and nobody active waits: let the first one in, whoever has to go."""
        head = self._head()
        while not self._members.fits(head) and (other := self._rotation.furthest(self._now_s)):
            self._pause(other)
        self._activate(head)
