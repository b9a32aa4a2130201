"""What a balancer is: it names the replica that a request goes to, once, when the request arrives.

A new one is a file of its own with a class, and its name in ``balancers/__init__.py``; the conformance suite
(``tests/fleet/test_balancers.py``) takes it from there.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol

from keepwarm.policies.base import BlockHash
from keepwarm.policies.sessions import SessionId

LOAD_BOUND = 1.25
"""Times the mean load: where balancers that bound it stop sending, unless told otherwise."""


class Arrival(NamedTuple):
    """A request as a balancer sees it. ``lookup_blocks``: the hashes it could hit, first block first."""

    session: SessionId
    lookup_blocks: Sequence[BlockHash]


class ReplicaView(Protocol):
    """What a balancer may ask of a replica. Nothing here mutates, raises, or counts as a look-up.

    A replica in the middle of a step is seen as that step leaves it.
    """

    @property
    def waiting_requests(self) -> int:
        """Requests that wait for admission."""
        ...

    @property
    def running_requests(self) -> int:
        """Requests in the batch."""
        ...

    @property
    def load_tokens(self) -> int:
        """Prompts and answers so far of the requests that wait or run."""
        ...

    @property
    def sent_requests(self) -> int:
        """All requests that it was ever sent."""
        ...

    def resident_blocks(self, lookup_blocks: Sequence[BlockHash]) -> int:
        """Length of the longest cached prefix. O(its length)."""
        ...

    def has_served(self, session: SessionId) -> bool:
        """Whether a request of the session came here, as far as the replica remembers."""
        ...


class Balancer(abc.ABC):
    """The balancer of one fleet. ``load_bound`` is a factor of the mean load, for those that bound it."""

    name: ClassVar[str]  # as given on the command line

    def __init__(self, replicas: Sequence[ReplicaView], *, load_bound: float = LOAD_BOUND) -> None:
        self.replicas = replicas
        self.load_bound = load_bound

    @abc.abstractmethod
    def choose(self, arrival: Arrival) -> int:
        """The replica's place in ``replicas``. May mutate the balancer, nothing else; never raises.

        Depends on nothing but the arrivals so far and what the replicas show.
        """

    def by_load(self, replica: int) -> tuple[int, int, int, int]:
        """Sorts the least loaded first; of equals the one that was sent less: idle ones take turns."""
        seen = self.replicas[replica]
        return seen.load_tokens, seen.waiting_requests + seen.running_requests, seen.sent_requests, replica
