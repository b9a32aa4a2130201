"""The clients of ``serving``, as several replicas share them.

Replicas are computed one ahead of the other, so answers come out of order. Who sends next depends on times
alone: of requests due at the same time, that of the earlier answer comes first, then the first replica's.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import chain
from math import inf
from typing import NamedTuple

from keepwarm.serving.clients import Client, Clients
from keepwarm.serving.population import Cast


class _Appointment(NamedTuple):
    """``client`` sends at ``due_s``, or whoever starts next. Made at ``made_s`` by a replica's answer."""

    due_s: float
    made_s: float
    replica: int
    number: int  # of all appointments: no two are equal
    client: Client | None


class FleetClients(Clients):
    """The sessions of a fleet. ``replica`` is the one that runs, and goes on until ``horizon_s`` at most."""

    def __init__(self, cast: Cast, gap_scale: float) -> None:
        self.horizon_s = inf
        self.replica = 0
        self._agenda: list[_Appointment] = []
        super().__init__(cast, gap_scale)
        following = next(cast.later, None)
        self._replaces = following is not None
        if following is not None:
            self._later = chain([following], cast.later)

    @property
    def due_s(self) -> float:
        """When the next request comes; infinite if none is due."""
        return self._agenda[0].due_s if self._agenda else inf

    @property
    def next_s(self) -> float:
        """When the next may come, as far as is known now."""
        return min(self.due_s, self.horizon_s)

    def pause_s(self, client: Client) -> float:
        """From its next answer until a request follows it; infinite if none does."""
        turn = client.next_turn
        if turn is not None:
            return turn.gap_s * self.gap_scale
        return 0.0 if self._replaces else inf

    def pop(self) -> Client:
        """As the clients'."""
        appointment = heappop(self._agenda)
        client = appointment.client
        if client is None:
            client = Client(self._started, next(self._later))
            self._started += 1
        client.due_s = appointment.due_s
        return client

    def answered(self, client: Client, now_s: float) -> None:
        """As the clients'; who starts next is known when all have come as far. Mutates."""
        turn = client.next_turn
        if turn is not None:
            self._book(now_s + turn.gap_s * self.gap_scale, now_s, client)
        elif self._replaces:
            self._book(now_s, now_s, None)

    def _at(self, client: Client, due_s: float) -> None:
        self._book(due_s, 0.0, client)

    def _book(self, due_s: float, made_s: float, client: Client | None) -> None:
        heappush(self._agenda, _Appointment(due_s, made_s, self.replica, self._appointments, client))
        self._appointments += 1
