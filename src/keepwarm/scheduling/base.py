"""What a queue order is: it decides which waiting request the server tries to admit next.

Each step of the server calls ``begin_step``, reads ``prefill_cap_tokens``, then asks for ``first`` while its
token budget lasts: it admits that request (``admitted``) or, if it does not fit, stops for this step.
"""

from __future__ import annotations

import abc
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from keepwarm.policies.sessions import SessionId
from keepwarm.scheduling.sessions import SessionTable


@dataclass(slots=True, eq=False)
class Ticket:
    """A request as a queue order sees it; whoever runs the server subclasses it.

    ``lookup_blocks`` are the hashes it could hit, first block first; ``need_blocks`` is what all its known
    tokens take (d_i). ``hit_blocks`` is what the last probe found (k_i), at the step ``probed_at_step``.
    """

    session: SessionId
    arrival_s: float
    lookup_blocks: Sequence[Hashable]
    need_blocks: int
    preempted: bool = False
    hit_blocks: int = 0
    probed_at_step: int = -1

    @property
    def missing_blocks(self) -> int:
        """Admission cost a_i as last probed."""
        return self.need_blocks - self.hit_blocks


class Server(Protocol):
    """What a queue order may ask of the server it works for. Nothing here mutates or raises."""

    @property
    def capacity_blocks(self) -> int:
        """Usable blocks, M."""
        ...

    @property
    def block_size(self) -> int:
        """Tokens of a block."""
        ...

    @property
    def step_tokens(self) -> int:
        """Token budget of one step."""
        ...

    @property
    def prefill_s_per_token(self) -> float:
        """Seconds that computing one prompt token takes now, as modelled or as measured lately; > 0."""
        ...

    def is_cached(self, block_hash: Hashable) -> bool:
        """Whether a look-up would find the block; nothing is counted as a hit. O(1)."""
        ...


T = TypeVar("T", bound=Ticket)


class QueueOrder(abc.ABC, Generic[T]):
    """The waiting requests of one server, and no others.

    ``sessions`` is kept up to date by whoever runs the server, before the order is told of the same event.
    Nothing raises but where it is said; a request that waits is never lost.
    """

    name: ClassVar[str]  # as given on the command line

    def __init__(self, server: Server, sessions: SessionTable) -> None:
        self.server = server
        self.sessions = sessions

    def begin_step(self, now_s: float) -> None:
        """A step begins at ``now_s`` of the server's clock. Mutates; bounded work."""

    @property
    def prefill_cap_tokens(self) -> int:
        """Most tokens that one request may compute in this step; 0 is no cap. Valid for one step."""
        return 0

    @abc.abstractmethod
    def add(self, ticket: T) -> None:
        """A request arrived. Mutates."""

    @abc.abstractmethod
    def put_back(self, ticket: T) -> None:
        """A request was preempted and waits again; the last one put back was admitted first. Mutates."""

    @abc.abstractmethod
    def first(self) -> T | None:
        """The request to be admitted next, or None if nobody is to be admitted now.

        Never None while requests wait and none runs. May refresh what it knows of waiters, a set number of
        them per step; who comes first stays the same until the next ``begin_step`` or mutating call.
        """

    @abc.abstractmethod
    def remove(self, ticket: T) -> None:
        """A request is given up by its client. Mutates; ``ValueError`` if it does not wait."""

    def admitted(self, ticket: T) -> None:
        """A request that waited runs from here on. Mutates; ``ValueError`` if it does not wait."""
        self.remove(ticket)

    def released(self, ticket: T) -> None:
        """An admitted request ended, by itself or given up while it ran. Mutates."""

    def prefilled(self, ticket: T) -> None:
        """An admitted request has computed its whole prompt and decodes from here on. Mutates."""

    @abc.abstractmethod
    def __iter__(self) -> Iterator[T]:
        """Waiting requests, in an order near that of admission. Does not mutate."""

    @abc.abstractmethod
    def __len__(self) -> int:
        """Number of waiting requests, those that are held back too."""
