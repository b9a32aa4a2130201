"""An active set of sessions whose contexts fit memory, rotated before anybody waits for too long.

After a study of serving coding agents (docs/design/queue-orders.md has its figures). Plain FCFS while all
live sessions fit. When they do not, only sessions of the active set are served, so that their next request
finds its context still cached; the others are paused and come in by arrival.

1. Bound: a request may wait for W = gamma times the time that computing the contexts of all live sessions
   takes, which is one round of FCFS over a cache that helped nobody.
2. Rotation: see ``rotation.py``. Inside the set a request past its bound goes first.
3. Inside the set: hot requests, whose missing blocks take up to 2 s, fewest missing first; cold ones by
   arrival, one prefill at a time and at most 3/4 of a step while hot ones want the rest; both classes
   get the same prefill tokens while both wait.
4. If nothing runs, whoever waits first is let in at the cost of the session that is expected back last.

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
from keepwarm.scheduling.members import Member, Members
from keepwarm.scheduling.priced import Looks, PricedQueue
from keepwarm.scheduling.rotation import Rotation
from keepwarm.scheduling.sessions import SessionTable


class Tuning(NamedTuple):
    """What the study found; ``gamma`` moves along the front of completion against the slowest requests."""

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
        self._members: Members[T] = Members(server, sessions)
        self._rotation: Rotation[T] = Rotation(self._members, sessions, self.tuning.patience_s)
        self._front: deque[T] = deque()  # preempted
        self._waits: OrderedDict[T, _Wait[T]] = OrderedDict()  # the others, by arrival
        self._hot: PricedQueue[T] = PricedQueue(lambda ticket: ticket.missing_blocks, self._looks)
        self._cold: ArrivalQueue[T] = ArrivalQueue()
        self._held: ArrivalQueue[T] = ArrivalQueue()  # of paused sessions
        self._deadlines: list[tuple[float, int, T]] = []
        self._running: set[T] = set()
        self._prefilling: set[T] = set()
        self._cold_prefills: set[T] = set()
        self._cold_ahead_blocks = 0  # that cold requests got more than hot ones, since both wait
        self._arrived = 0
        self._now_s = 0.0
        self._check_at_s = 0.0
        self._changed = False
        self._fits_since_s: float | None = 0.0
        self._gated = False
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
        """3/4 of the budget while a cold prompt is computed and somebody hot wants the rest; else no cap."""
        if not self._cold_prefills or not (self._hot or len(self._prefilling) > 1):
            return 0
        return max(1, int(self.tuning.cold_share * self.server.step_tokens))

    def add(self, ticket: T) -> None:
        """Into the set if its session is in it or fits, else it waits outside."""
        self._looks.on_arrival(ticket)
        member = self._members.asks(ticket)
        self._arrived += 1
        server = self.server
        round_s = self._members.context_blocks * server.block_size * server.prefill_s_per_token
        wait = self._waits[ticket] = _Wait(self._arrived, self.tuning.gamma * round_s, member)
        heapq.heappush(self._deadlines, (ticket.arrival_s + wait.bound_s, wait.number, ticket))
        if self._members.live_blocks > server.capacity_blocks:
            self._gated = True
        if not member.active and not self._held and self._members.fits(member):
            self._members.activate(member, self._now_s)
        self._enter(ticket, wait)
        self._touch()

    def put_back(self, ticket: T) -> None:
        self._running.discard(ticket)
        self._prefilling.discard(ticket)
        self._cold_prefills.discard(ticket)
        self._front.appendleft(ticket)
        self._first = None

    def first(self) -> T | None:
        """The preempted one put back last, else by the rules above. A few looks, once per step and change."""
        if self._first is None:
            self._first = self._choose()
        return self._first

    def remove(self, ticket: T) -> None:
        was_preempted = ticket not in self._waits
        if was_preempted:
            self._front.remove(ticket)
        else:
            self._leave(ticket, self._waits.pop(ticket))
        self._members.over(ticket, self._now_s, was_admitted=was_preempted, served=False)
        self._touch()

    def admitted(self, ticket: T) -> None:
        wait = self._waits.pop(ticket, None)
        if wait is None:
            self._front.remove(ticket)
        else:
            self._charge(ticket, cold=wait.number in self._cold)
            self._leave(ticket, wait)
            self._members.admitted(ticket)
        self._running.add(ticket)
        self._prefilling.add(ticket)
        self._first = None

    def released(self, ticket: T) -> None:
        self._running.discard(ticket)
        self.prefilled(ticket)
        self._members.over(ticket, self._now_s, was_admitted=True, served=True)
        self._touch()

    def prefilled(self, ticket: T) -> None:
        self._prefilling.discard(ticket)
        self._cold_prefills.discard(ticket)
        self._first = None

    def __iter__(self) -> Iterator[T]:
        """The preempted, the hot, the cold, those of paused sessions."""
        yield from self._front
        yield from self._hot
        yield from self._cold
        yield from self._held

    def __len__(self) -> int:
        return len(self._front) + len(self._waits)

    def _touch(self) -> None:
        self._changed = True
        self._first = None

    # Who is in the set

    def _check(self) -> None:
        """Activate who fits; every so often, pause for those who do not."""
        members, now_s = self._members, self._now_s
        self._changed = False
        members.settle(now_s)
        self._look_at_gate()
        while members.active_blocks > self.server.capacity_blocks:
            surplus = self._rotation.furthest(now_s)
            if surplus is None:
                break
            self._pause(surplus)
        self._activate_who_fits()
        if self._held and now_s >= self._check_at_s:
            self._check_at_s = now_s + self.tuning.check_s
            self._rotate()

    def _look_at_gate(self) -> None:
        if self._members.live_blocks > self.server.capacity_blocks:
            self._gated, self._fits_since_s = True, None
        elif self._fits_since_s is None:
            self._fits_since_s = self._now_s
        elif self._now_s - self._fits_since_s >= self.tuning.calm_s:
            self._gated = False

    def _rotate(self) -> None:
        pressure = max(self._pressure(ticket) for ticket in self._held.oldest(16))
        for member in self._rotation.long_gone(pressure, self._now_s):
            self._pause(member)
            if not self._activate_who_fits():
                return
        if pressure > 1:
            head = self._head()
            while not self._members.fits(head, leaving_too=False):
                longest = self._rotation.longest_active()
                if longest is None:
                    break
                self._pause(longest)
            self._activate_who_fits()

    def _pressure(self, ticket: T) -> float:
        wait = self._waits[ticket]
        return (self._now_s - ticket.arrival_s) / max(wait.bound_s, 1e-9)

    def _head(self) -> Member[T]:
        return next(self._waits[ticket].member for ticket in self._held.oldest(1))

    def _activate_who_fits(self) -> bool:
        """By arrival, nobody skipped; True if somebody is left outside."""
        while self._held:
            member = self._head()
            if not self._members.fits(member):
                return True
            self._activate(member)
        return False

    def _activate(self, member: Member[T]) -> None:
        self._members.activate(member, self._now_s)
        for ticket in member.waiting:
            wait = self._waits[ticket]
            self._held.remove(wait.number)
            self._enter(ticket, wait)
        self._first = None

    def _pause(self, member: Member[T]) -> None:
        for ticket in member.waiting:
            self._leave(ticket, self._waits[ticket])
        self._members.pause(member)
        for ticket in member.waiting:
            self._enter(ticket, self._waits[ticket])
        self._first = None

    # Where a request waits

    def _enter(self, ticket: T, wait: _Wait[T]) -> None:
        if not wait.member.active:
            self._held.push(ticket, wait.number)
        elif self._is_hot(ticket):
            self._hot.push(ticket, wait.number)
        else:
            self._cold.push(ticket, wait.number)

    def _leave(self, ticket: T, wait: _Wait[T]) -> None:
        if ticket in self._hot:
            self._hot.remove(ticket)
        elif wait.number in self._cold:
            self._cold.remove(wait.number)
        else:
            self._held.remove(wait.number)

    def _is_hot(self, ticket: T) -> bool:
        server = self.server
        return ticket.missing_blocks * server.block_size * server.prefill_s_per_token <= self.tuning.hot_s

    # Who is next

    def _choose(self) -> T | None:
        if self._front:
            return self._front[0]
        if not self._waits:
            return None
        if not self._gated:
            return next(iter(self._waits))
        choice = self._inside()
        if choice is not None or self._running:
            return choice
        self._make_room()
        choice = self._inside()
        return next(iter(self._waits)) if choice is None else choice

    def _inside(self) -> T | None:
        overdue = self._overdue()
        if overdue is not None:
            return overdue
        hot = self._first_hot()
        cold = None if self._cold_prefills else self._first_cold()
        if hot is None or cold is None:
            return hot or cold
        return cold if self._cold_ahead_blocks <= 0 else hot

    def _overdue(self) -> T | None:
        """The active request past its bound for longest, unless it has to wait for a cold prefill."""
        deadlines = self._deadlines
        while deadlines and deadlines[0][2] not in self._waits:
            heapq.heappop(deadlines)
        if not deadlines or deadlines[0][0] > self._now_s:
            return None
        ticket = deadlines[0][2]
        if ticket in self._hot or (self._waits[ticket].number in self._cold and not self._cold_prefills):
            return ticket
        return None

    def _first_hot(self) -> T | None:
        while (ticket := self._hot.first()) is not None and not self._is_hot(ticket):
            self._hot.remove(ticket)
            self._cold.push(ticket, self._waits[ticket].number)
        return ticket

    def _first_cold(self) -> T | None:
        while (ticket := self._cold.first()) is not None:
            if self._looks.is_fresh(ticket) or not self._looks.spend(ticket) or not self._is_hot(ticket):
                return ticket
            self._cold.remove(self._waits[ticket].number)
            self._hot.push(ticket, self._waits[ticket].number)
        return None

    def _charge(self, ticket: T, *, cold: bool) -> None:
        """Book an admission to its class if the other one waits too."""
        if cold:
            self._cold_prefills.add(ticket)
        if not (self._hot if cold else self._cold):
            self._cold_ahead_blocks = 0
        else:
            self._cold_ahead_blocks += ticket.missing_blocks if cold else -ticket.missing_blocks

    def _make_room(self) -> None:
        """Nothing runs and nobody active waits: let the first one in, whoever has to go."""
        head = self._head()
        while not self._members.fits(head):
            member = self._rotation.furthest(self._now_s)
            if member is None:
                break
            self._pause(member)
        self._activate(head)
