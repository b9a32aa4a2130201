"""A fleet on one virtual clock: requests arrive, the balancer sends each to a replica, replicas step.

A request is sent when every busy replica has reached its time of arrival. Until then the busy replica that is
furthest behind goes on, no further than to the first time at which something could arrive. Nothing is
decided earlier than it could be known, and one replica alone does what ``serving.loop`` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from keepwarm.fleet.balancers.base import Arrival, Balancer
from keepwarm.fleet.clients import FleetClients
from keepwarm.fleet.load_watch import LoadWatch
from keepwarm.fleet.replica import Replica
from keepwarm.serving.clients import Client
from keepwarm.serving.ledger import Counts, Ledger, Served


class FleetLedger(NamedTuple):
    """What a run leaves behind. ``ledger``: of all replicas together; the lists have an entry a replica.

    ``moves`` counts requests of measured sessions that went to another replica than the one before.
    """

    ledger: Ledger
    served: Sequence[Sequence[Served]]
    windows: Sequence[Counts]
    moves: int
    moved_sessions: int
    hot_spot_share: float


class Fleet:
    """One run, from time 0 until the last measured session has ended."""

    def __init__(
        self, replicas: Sequence[Replica], clients: FleetClients, balancer: Balancer, measured: range
    ) -> None:
        self.replicas = replicas
        self._clients = clients
        self._balancer = balancer
        self._measured = measured
        self._to_end = len(measured)
        self._since: list[Counts] | None = None  # of each replica, when the first of them started
        self._since_s = self._end_s = 0.0
        self._last: dict[int, int] = {}  # where each measured session went
        self._moves: dict[int, int] = {}
        self._loads = LoadWatch(len(replicas))
        self._reached_s = [inf] * len(replicas)  # how far each busy replica is
        self._following_s = [inf] * len(replicas)  # before which nothing follows an answer of each

    def run(self) -> FleetLedger:
        """Mutates."""
        while self._to_end and self._advance():
            pass
        while min(self._reached_s) < self._end_s:  # no further: who replaces the last session is due then
            self._advance()
        before = self._since or [Counts()] * len(self.replicas)
        windows = [replica.counts().since(then) for replica, then in zip(self.replicas, before, strict=True)]
        window_s = self._end_s - self._since_s
        window = Counts(window_s, *(sum(counts) for counts in list(zip(*windows, strict=True))[1:]))
        served = [replica.served for replica in self.replicas]
        in_order = sorted((one for some in served for one in some), key=lambda one: one.end_s)
        return FleetLedger(
            Ledger(in_order, window),
            served,
            windows,
            sum(self._moves.values()),
            len(self._moves),
            self._loads.end(self._end_s),
        )

    def _advance(self) -> bool:
        """One request sent, or one replica up to its next event; False if there is nothing left to do."""
        behind_s, due_s = min(self._reached_s), self._clients.due_s
        self._loads.settle(min(behind_s, due_s))
        if due_s <= behind_s and due_s < inf:
            self._send(self._clients.pop())
            return True
        if behind_s == inf:
            return False
        index = self._reached_s.index(behind_s)
        replica = self.replicas[index]
        self._following_s[index] = inf
        self._clients.replica = index
        self._clients.horizon_s = min(self._following_s)
        sessions, requests = replica.ended_sessions, replica.ended_requests
        replica.advance()
        self._look_at(index)
        if replica.ended_sessions > sessions:
            self._to_end -= replica.ended_sessions - sessions
            self._end_s = max(self._end_s, replica.now_s)
        if replica.ended_requests > requests:
            self._loads.note(replica.now_s, index, replica.load_tokens)
        return True

    def _look_at(self, index: int) -> None:
        """How far the replica ``index`` is now."""
        replica = self.replicas[index]
        self._reached_s[index] = replica.now_s if replica.is_busy else inf
        self._following_s[index] = replica.following_s

    def _send(self, client: Client) -> None:
        turn = client.trace.turns[client.sent]
        block_size = self.replicas[0].engine.block_size
        lookup_blocks = turn.blocks[: (turn.prompt_tokens - 1) // block_size]
        index = self._balancer.choose(Arrival(client.session, lookup_blocks))
        replica = self.replicas[index]
        if client.number in self._measured:
            self._note_measured(client, index)
        replica.receive(client)
        self._look_at(index)
        self._loads.note(replica.now_s, index, replica.load_tokens)

    def _note_measured(self, client: Client, index: int) -> None:
        """A measured session sends to the replica ``index``; time counts from the first time on."""
        if self._since is None:
            self._since = [replica.counts() for replica in self.replicas]
            self._since_s = max(client.due_s, self.replicas[index].now_s)
            self._loads.begin(self._since_s)
        if self._last.get(client.number, index) != index:
            self._moves[client.number] = self._moves.get(client.number, 0) + 1
        self._last[client.number] = index
