"""First come, first served, the stock order of vLLM: preempted requests go to the very front."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from keepwarm.scheduling.base import QueueOrder, Server, T
from keepwarm.scheduling.sessions import SessionTable


class Fcfs(QueueOrder[T]):
    """A queue. O(1), but for removing a request that is not the first."""

    name = "fcfs"

    def __init__(self, server: Server, sessions: SessionTable) -> None:
        super().__init__(server, sessions)
        self._queue: deque[T] = deque()

    def add(self, ticket: T) -> None:
        """To the end."""
        self._queue.append(ticket)

    def put_back(self, ticket: T) -> None:
        """To the front: it was admitted before all that wait."""
        self._queue.appendleft(ticket)

    def first(self) -> T | None:
        """The head."""
        return self._queue[0] if self._queue else None

    def remove(self, ticket: T) -> None:
        """Wherever it waits."""
        if self._queue and self._queue[0] is ticket:
            self._queue.popleft()
        else:
            self._queue.remove(ticket)

    def __iter__(self) -> Iterator[T]:
        return iter(self._queue)

    def __len__(self) -> int:
        return len(self._queue)
