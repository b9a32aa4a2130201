"""A small server with a cache for queue orders to work for, and clients that ask it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.estimators.unknown import Unknown
from keepwarm.scheduling.base import QueueOrder, Ticket
from keepwarm.scheduling.sessions import SessionTable

Order = type[QueueOrder[Any]]


@dataclass(slots=True, eq=False, kw_only=True)
class Asked(Ticket):
    """A request with what the small server has to know of it."""

    steps: int = 1  # that it decodes for
    left_tokens: int = 0
    admitted_s: float = -1.0
    first_token_s: float = -1.0
    ended_s: float = -1.0


def chain(session: str, blocks: int) -> list[Hashable]:
    """Hashes of a context of this session: a longer one extends a shorter one."""
    return [(session, depth) for depth in range(blocks)]


class SmallServer:
    """Chunked prefill, running before waiting, LRU over whole prefixes; a step takes what its tokens cost."""

    block_size = 16
    step_tokens = 512
    prefill_s_per_token = 1e-4

    def __init__(self, order: Order, capacity_blocks: int = 1_000, most_running: int = 64) -> None:
        self.capacity_blocks = capacity_blocks
        self.most_running = most_running
        self.now_s = 0.0
        self.sessions = SessionTable(Unknown())
        self.cached: OrderedDict[Hashable, None] = OrderedDict()
        self.asked_is_cached = 0
        self.running: list[Asked] = []
        self.owed: dict[Asked, None] = {}  # requests not given up, by arrival
        self.done: list[Asked] = []
        self.order = order(self, self.sessions)

    def is_cached(self, block_hash: Hashable) -> bool:
        self.asked_is_cached += 1
        return block_hash in self.cached

    def cache(self, blocks: Iterable[Hashable]) -> None:
        for block in blocks:
            self.cached[block] = None
            self.cached.move_to_end(block)
        while len(self.cached) > self.capacity_blocks:
            self.cached.popitem(last=False)

    def ask(self, session: str, blocks: int, *, steps: int = 1) -> Asked:
        """A request arrives: a context of ``blocks`` blocks, the last of which is never looked up."""
        ticket = Asked(
            session=SessionId(session),
            arrival_s=self.now_s,
            lookup_blocks=chain(session, blocks - 1),
            need_blocks=blocks,
            steps=steps,
        )
        self.sessions.arrived(ticket.session, blocks, self.now_s)
        self.order.add(ticket)
        self.owed[ticket] = None
        return ticket

    def give_up(self, ticket: Asked) -> None:
        self.order.remove(ticket)
        del self.owed[ticket]
        self.sessions.ended(ticket.session, ticket.need_blocks, self.now_s)

    def preempt(self) -> Asked:
        """The request admitted last waits again."""
        ticket = self.running.pop()
        ticket.preempted = True
        self.order.put_back(ticket)
        return ticket

    def step(self) -> None:
        """Running ones first, then who the order says; the clock moves by the tokens computed."""
        self.sessions.now_s = self.now_s
        self.order.begin_step(self.now_s)
        budget = self.step_tokens
        cap = self.order.prefill_cap_tokens or budget
        for ticket in self.running:
            tokens = min(max(1, ticket.left_tokens), cap, budget)
            ticket.left_tokens -= tokens
            budget -= tokens
        while budget > 0 and len(self.running) < self.most_running:
            candidate = self.order.first()
            if candidate is None or not self._fits(candidate):
                break
            budget -= self._admit(candidate, min(cap, budget))
        self.now_s += (self.step_tokens - budget) * self.prefill_s_per_token + 1e-3
        self._finish()

    def _fits(self, ticket: Asked) -> bool:
        used = sum(other.need_blocks for other in self.running)
        return not self.running or used + ticket.need_blocks <= self.capacity_blocks

    def _admit(self, ticket: Asked, most_tokens: int) -> int:
        self.order.admitted(ticket)
        hits = 0
        while hits < len(ticket.lookup_blocks) and ticket.lookup_blocks[hits] in self.cached:
            hits += 1
        ticket.left_tokens = (ticket.need_blocks - hits) * self.block_size
        tokens = min(ticket.left_tokens, most_tokens)
        ticket.left_tokens -= tokens
        if ticket.admitted_s < 0:
            ticket.admitted_s = self.now_s
        self.running.append(ticket)
        return tokens

    def _finish(self) -> None:
        for ticket in [ticket for ticket in self.running if ticket.left_tokens <= 0]:
            if ticket.first_token_s < 0:
                ticket.first_token_s = self.now_s
                self.order.prefilled(ticket)
                self.cache(ticket.lookup_blocks)
            ticket.steps -= 1
            if ticket.steps <= 0:
                ticket.ended_s = self.now_s
                self.running.remove(ticket)
                self.order.released(ticket)
                self.sessions.ended(ticket.session, ticket.need_blocks, self.now_s)
                self.done.append(ticket)

    @property
    def idle(self) -> bool:
        return not self.running and not len(self.order)

    def drain(self, most_steps: int = 200_000) -> None:
        """Step until everybody is served."""
        for _ in range(most_steps):
            if self.idle:
                return
            self.step()
        raise AssertionError(f"{len(self.order)} wait still, {len(self.running)} run")
