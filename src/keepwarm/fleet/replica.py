"""A replica: the loop of ``serving``, unchanged, which gets its requests from a balancer.

Replicas share the clients, and one clock through them: the replica that is furthest behind goes on, up to the
first time at which anything could arrive. That is the next request that is due, or one that follows, a pause
later, an answer which another replica may give by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nextafter

from keepwarm.fleet.clients import FleetClients
from keepwarm.policies.base import BlockHash
from keepwarm.policies.sessions import SessionId
from keepwarm.serving.clients import Client
from keepwarm.serving.ledger import Counts, Served
from keepwarm.serving.loop import Loop

_ROUNDING = 1 - 1e-9  # of a sum of many steps


class Replica(Loop):
    """One server of a fleet, as the fleet drives it and as a balancer sees it."""

    clients: FleetClients
    sent_requests = 0
    load_tokens = 0
    following_s = inf  # no request that follows an answer from here comes before

    def receive(self, client: Client) -> None:
        """Its next request goes here: heard of at once, or at the end of the step under way. Mutates."""
        if not self.is_busy:
            self.now_s = max(self.now_s, client.due_s)
        self.sent_requests += 1
        self._send(client)
        self._look_ahead()

    def advance(self) -> bool:
        """As the loop's."""
        advanced = super().advance()
        self._look_ahead()
        return advanced

    @property
    def is_busy(self) -> bool:
        """Whether a request waits or runs."""
        return len(self.engine) > 0

    @property
    def served(self) -> Sequence[Served]:
        """Requests of measured sessions that ended here, in that order."""
        return self._ledger.served

    @property
    def ended_sessions(self) -> int:
        """Measured sessions that ended here."""
        return len(self._measured) - self._to_end

    @property
    def waiting_requests(self) -> int:
        return len(self.engine.waiting)

    @property
    def running_requests(self) -> int:
        return len(self.engine.running)

    def resident_blocks(self, lookup_blocks: Sequence[BlockHash]) -> int:
        pool = self.engine.pool  # not the engine's probe, which counts
        if not lookup_blocks or not pool.is_cached(lookup_blocks[0]):
            return 0  # as most replicas of a large fleet say
        return len(pool.lookup(lookup_blocks))

    def has_served(self, session: SessionId) -> bool:
        return self.engine.sessions.get(session) is not None

    def counts(self) -> Counts:
        """Totals since the start."""
        return self._counts()

    def _look_ahead(self) -> None:
        """Every token left of an answer takes a step that reads what is known; then the client pauses."""
        self.load_tokens, self.following_s = 0, inf
        at_once_s = nextafter(self.now_s, inf)
        for served in self._live.values():
            known_tokens = served.state.known_tokens
            self.load_tokens += known_tokens
            steps = served.state.final_tokens - known_tokens
            ahead_s = steps * self.costs.step_s(1, known_tokens, known_tokens) * _ROUNDING
            answer_s = max(self.now_s + ahead_s, at_once_s)
            self.following_s = min(self.following_s, answer_s + self.clients.pause_s(served.client))
