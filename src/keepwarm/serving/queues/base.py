"""What a queue order is: it decides which waiting request the server tries to admit next."""

from __future__ import annotations

import abc
from collections.abc import Iterator

from keepwarm.serving.base import RequestState


class QueueOrder(abc.ABC):
    """The waiting requests of one server. The server tries the first, and waits if that one does not fit."""

    @abc.abstractmethod
    def add(self, state: RequestState) -> None:
        """A request arrived. Mutates."""

    @abc.abstractmethod
    def put_back(self, state: RequestState) -> None:
        """A request was preempted and waits again; the last one put back was admitted first. Mutates."""

    @abc.abstractmethod
    def first(self) -> RequestState:
        """The request to be admitted next. Does not mutate; ``LookupError`` if none waits."""

    @abc.abstractmethod
    def remove(self, state: RequestState) -> None:
        """A request was admitted or given up. Mutates; ``ValueError`` if it does not wait."""

    @abc.abstractmethod
    def __iter__(self) -> Iterator[RequestState]:
        """Waiting requests, next first. Does not mutate; valid until the next mutating call."""

    @abc.abstractmethod
    def __len__(self) -> int:
        """Number of waiting requests."""
