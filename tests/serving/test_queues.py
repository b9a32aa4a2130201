"""Orders of the waiting queue."""

from __future__ import annotations

import pytest

from keepwarm.serving.base import RequestId, RequestState, ServerRequest
from keepwarm.serving.queues.fcfs import Fcfs


def state(name: str) -> RequestState:
    return RequestState(ServerRequest(RequestId(name), 1, 1, []), [], 1, 2)


def names(queue: Fcfs) -> str:
    return "".join(waiting.request.id for waiting in queue)


def test_first_come_first_served_with_the_preempted_in_front() -> None:
    queue, states = Fcfs(), {name: state(name) for name in "abcd"}
    for name in "ab":
        queue.add(states[name])
    queue.put_back(states["d"])  # preempted first, as it was admitted last
    queue.put_back(states["c"])
    assert names(queue) == "cdab"
    assert queue.first() is states["c"]
    queue.remove(states["c"])
    queue.remove(states["a"])
    assert (names(queue), len(queue)) == ("db", 2)


def test_an_empty_queue_and_a_stranger_are_errors() -> None:
    queue = Fcfs()
    with pytest.raises(LookupError):
        queue.first()
    with pytest.raises(ValueError, match="not in deque"):
        queue.remove(state("a"))
