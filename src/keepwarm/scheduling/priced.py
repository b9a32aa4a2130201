"""Waiting requests by a price that changes under them: what orders by cached blocks are built on.

A price holds at the moment a waiter is looked at. A heap keeps the last ones; before its head is believed
it is looked at again, and pushed back if it has become dearer. Waiters that became cheaper are found by
looking at the next few in turn. Both together look at a set number of waiters per step, whatever waits.
"""

from __future__ import annotations

import abc
import heapq
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Generic

from keepwarm.scheduling.base import QueueOrder, Server, T
from keepwarm.scheduling.probe import probe
from keepwarm.scheduling.sessions import SessionTable

MOST_LOOKED_AT = 8  # waiters per step
LOOKED_AT_IN_TURN = 2  # of them, to find those that became cheaper


class Looks(Generic[T]):
    """The looks at waiters that a step has left."""

    def __init__(self, server: Server, most: int = MOST_LOOKED_AT) -> None:
        self._server = server
        self._most = most
        self._step = 0
        self._left = most

    def begin_step(self) -> None:
        """All looks are there again. Mutates; O(1)."""
        self._step += 1
        self._left = self._most

    def on_arrival(self, ticket: T) -> None:
        """The first look at a request, once and before any step. Mutates; O(log blocks)."""
        probe(self._server, ticket, self._step)

    def is_fresh(self, ticket: T) -> bool:
        """Whether it was looked at in this step."""
        return ticket.probed_at_step == self._step

    def spend(self, ticket: T) -> bool:
        """Look at it; False if no look is left. Mutates."""
        if not self._left:
            return False
        self._left -= 1
        probe(self._server, ticket, self._step)
        return True


class PricedQueue(Generic[T]):
    """Requests by price, equal ones in the order they were pushed. O(log n) to push, O(1) to remove.

    What was removed stays in the heap until it surfaces or outnumbers what waits.
    """

    def __init__(self, price: Callable[[T], float], looks: Looks[T]) -> None:
        self._price = price
        self._looks = looks
        self._heap: list[tuple[float, int, T]] = []
        self._entries: OrderedDict[T, tuple[float, int, T]] = OrderedDict()  # looked at last at the end

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, ticket: object) -> bool:
        return ticket in self._entries

    def __iter__(self) -> Iterator[T]:
        """Cheapest first, by the prices known. O(n log n)."""
        return (ticket for _, _, ticket in sorted(self._entries.values()))

    def push(self, ticket: T, number: int) -> None:
        """Enter it at its price of now; ``number`` is its place among equals. Mutates."""
        entry = (self._price(ticket), number, ticket)
        self._entries[ticket] = entry
        heapq.heappush(self._heap, entry)

    def remove(self, ticket: T) -> None:
        """Take it out. Mutates; ``KeyError`` if it is not there."""
        del self._entries[ticket]
        if len(self._heap) > 2 * len(self._entries) + 64:
            self._heap = list(self._entries.values())
            heapq.heapify(self._heap)

    def first(self) -> T | None:
        """The cheapest, as far as the step's looks reach. Mutates what is known, not who waits."""
        looks = self._looks
        while (top := self._top()) is not None:
            if looks.is_fresh(top):
                return top
            if not looks.spend(top):
                return top  # the cheapest by the last prices known
            self._reprice(top)
        return None

    def look_around(self) -> None:
        """Look at the next few in turn: they may have become cheaper. Mutates what is known."""
        for _ in range(min(LOOKED_AT_IN_TURN, len(self._entries))):
            ticket = next(iter(self._entries))
            if not self._looks.is_fresh(ticket) and not self._looks.spend(ticket):
                return
            self._entries.move_to_end(ticket)
            self._reprice(ticket)

    def _top(self) -> T | None:
        heap = self._heap
        while heap:
            entry = heap[0]
            if self._entries.get(entry[2]) is entry:
                return entry[2]
            heapq.heappop(heap)
        return None

    def _reprice(self, ticket: T) -> None:
        price, number, _ = self._entries[ticket]
        if (now := self._price(ticket)) != price:
            entry = (now, number, ticket)
            self._entries[ticket] = entry
            heapq.heappush(self._heap, entry)


class PricedOrder(QueueOrder[T]):
    """Admits the cheapest; preempted requests first. What a request costs, a subclass says."""

    def __init__(self, server: Server, sessions: SessionTable) -> None:
        super().__init__(server, sessions)
        self._looks: Looks[T] = Looks(server)
        self._front: deque[T] = deque()  # preempted
        self._queue = PricedQueue(self.price, self._looks)
        self._arrived = 0
        self._first: T | None = None

    @abc.abstractmethod
    def price(self, ticket: T) -> float:
        """What admitting it costs, as last looked at: the lowest goes first. Does not mutate; O(1)."""

    def begin_step(self, now_s: float) -> None:
        super().begin_step(now_s)
        self._looks.begin_step()
        self._first = None

    def add(self, ticket: T) -> None:
        """Behind all that cost as much. O(log n) and one look."""
        self._looks.on_arrival(ticket)
        self._arrived += 1
        self._queue.push(ticket, self._arrived)
        self._first = None

    def put_back(self, ticket: T) -> None:
        """To the very front: it was admitted before all that wait."""
        self._front.appendleft(ticket)
        self._first = None

    def first(self) -> T | None:
        """The preempted one put back last, else the cheapest. A few looks, once per step and change."""
        if self._first is None:
            self._first = self._front[0] if self._front else self._cheapest()
        return self._first

    def remove(self, ticket: T) -> None:
        """Wherever it waits. O(1), but for the preempted."""
        if ticket in self._queue:
            self._queue.remove(ticket)
        else:
            self._front.remove(ticket)
        self._first = None

    def __iter__(self) -> Iterator[T]:
        yield from self._front
        yield from self._queue

    def __len__(self) -> int:
        return len(self._front) + len(self._queue)

    def _cheapest(self) -> T | None:
        self._queue.look_around()
        return self._queue.first()
