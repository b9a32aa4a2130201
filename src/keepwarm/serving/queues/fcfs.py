"""First come, first served, the stock order of vLLM: preempted requests go to the very front."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from keepwarm.serving.base import RequestState
from keepwarm.serving.queues.base import QueueOrder


class Fcfs(QueueOrder):
    """A queue. O(1), but for removing a request that is not the first."""

    def __init__(self) -> None:
        self._queue: deque[RequestState] = deque()

    def add(self, state: RequestState) -> None:
        """To the end."""
        self._queue.append(state)

    def put_back(self, state: RequestState) -> None:
        """To the front: it was admitted before all that wait."""
        self._queue.appendleft(state)

    def first(self) -> RequestState:
        """The head."""
        return self._queue[0]

    def remove(self, state: RequestState) -> None:
        """Wherever it waits."""
        if self._queue and self._queue[0] is state:
            self._queue.popleft()
        else:
            self._queue.remove(state)

    def __iter__(self) -> Iterator[RequestState]:
        return iter(self._queue)

    def __len__(self) -> int:
        return len(self._queue)
