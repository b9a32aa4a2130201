"""Who is next inside the active set: hot requests beside cold ones, neither at the other's cost.

Hot are those whose missing blocks take up to ``hot_s``: fewest missing first. Cold ones go by arrival, one
prefill at a time, and while hot ones want the rest it takes at most ``cold_share`` of a step. While both
wait, both get the same number of prefill tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

from keepwarm.scheduling.arrivals import ArrivalQueue
from keepwarm.scheduling.base import Server, T
from keepwarm.scheduling.priced import Looks, PricedQueue

_MEMORY = 0.9  # of the cold prefills before the newest
_MOST_OFF = 4.0  # times what the server says


class Lanes(Generic[T]):
    """Waiting requests of active sessions, each with the number of its arrival. O(log n) per event."""

    def __init__(self, server: Server, looks: Looks[T], hot_s: float, cold_share: float) -> None:
        self._server = server
        self._looks = looks
        self._hot_s = hot_s
        self._cold_share = cold_share
        self._hot: PricedQueue[T] = PricedQueue(lambda ticket: ticket.missing_blocks, looks)
        self._cold: ArrivalQueue[T] = ArrivalQueue()
        self._numbers: dict[T, int] = {}
        self._prefilling: set[T] = set()
        self._cold_began_s: dict[T, float] = {}
        self._cold_lead_blocks = 0  # that cold requests got more than hot ones, since both wait
        self._times_dearer = 1.0  # that cold prefills are than the server says

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, ticket: object) -> bool:
        return ticket in self._numbers

    def __iter__(self) -> Iterator[T]:
        """The hot, then the cold."""
        yield from self._hot
        yield from self._cold

    @property
    def cap_tokens(self) -> int:
        """Most prompt tokens of one request in a step: a cap while something cold is computed, else 0."""
        if not self._cold_began_s or not (self._hot or len(self._prefilling) > 1):
            return 0
        return max(1, int(self._cold_share * self._server.step_tokens))

    @property
    def cold_s_per_block(self) -> float:
        """Seconds that a block of a cold prompt takes, as the last ones took beside all else."""
        return self._flat_s_per_block * self._times_dearer

    @property
    def _flat_s_per_block(self) -> float:
        return self._server.block_size * self._server.prefill_s_per_token

    def is_hot(self, ticket: T) -> bool:
        """As last looked at."""
        return ticket.missing_blocks * self._flat_s_per_block <= self._hot_s

    def has_place(self, ticket: T, number: int) -> bool:
        """Whether it would be next in its lane, if it came in now."""
        if self.is_hot(ticket):
            return True
        return not self._cold_began_s and self._cold.number_of_first() > number

    def push(self, ticket: T, number: int) -> None:
        """It waits here from now on. Mutates."""
        self._numbers[ticket] = number
        if self.is_hot(ticket):
            self._hot.push(ticket, number)
        else:
            self._cold.push(ticket, number)

    def remove(self, ticket: T) -> None:
        """It does not wait here any more. Mutates; KeyError if it did not."""
        number = self._numbers.pop(ticket)
        if ticket in self._hot:
            self._hot.remove(ticket)
        else:
            self._cold.remove(number)

    def first(self) -> T | None:
        """Who is next; None while the only ones are cold and one is being computed. Looks at a few."""
        hot = self._first_hot()
        cold = None if self._cold_began_s else self._first_cold()
        if hot is None or cold is None:
            return cold if hot is None else hot
        return cold if self._cold_lead_blocks <= 0 else hot

    def may_start(self, ticket: T) -> bool:
        """Whether it may be admitted out of turn."""
        return ticket in self._hot or (ticket in self._numbers and not self._cold_began_s)

    def admitted(self, ticket: T, now_s: float) -> None:
        """It is being computed; it may have waited elsewhere. Mutates."""
        self._prefilling.add(ticket)
        if ticket not in self._numbers:
            return
        is_cold = ticket not in self._hot
        self.remove(ticket)
        if is_cold:
            self._cold_began_s[ticket] = now_s
        if not (self._hot if is_cold else self._cold):
            self._cold_lead_blocks = 0
        else:
            self._cold_lead_blocks += ticket.missing_blocks if is_cold else -ticket.missing_blocks

    def prefilled(self, ticket: T, now_s: float) -> None:
        """Its prompt is computed. Mutates."""
        self._prefilling.discard(ticket)
        began_s = self._cold_began_s.pop(ticket, None)
        if began_s is None or now_s <= began_s:
            return
        flat_s = max(1, ticket.missing_blocks) * self._flat_s_per_block
        times = min(_MOST_OFF, max(1 / _MOST_OFF, (now_s - began_s) / flat_s))
        self._times_dearer = _MEMORY * self._times_dearer + (1 - _MEMORY) * times

    def given_up(self, ticket: T) -> None:
        """It is not being computed any more. Mutates."""
        self._prefilling.discard(ticket)
        self._cold_began_s.pop(ticket, None)

    def _first_hot(self) -> T | None:
        while (ticket := self._hot.first()) is not None and not self.is_hot(ticket):
            self._hot.remove(ticket)
            self._cold.push(ticket, self._numbers[ticket])
        return ticket

    def _first_cold(self) -> T | None:
        while (ticket := self._cold.first()) is not None:
            if self._looks.is_fresh(ticket) or not self._looks.spend(ticket) or not self.is_hot(ticket):
                return ticket
            self._cold.remove(self._numbers[ticket])
            self._hot.push(ticket, self._numbers[ticket])
        return None
