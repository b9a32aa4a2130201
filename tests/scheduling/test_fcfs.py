"""First come, first served."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.estimators.unknown import Unknown
from keepwarm.scheduling.base import Ticket
from keepwarm.scheduling.fcfs import Fcfs
from keepwarm.scheduling.sessions import SessionTable


class EmptyServer:
    capacity_blocks = 100
    block_size = 16
    step_tokens = 512
    prefill_s_per_token = 1e-4

    def is_cached(self, block_hash: Hashable) -> bool:
        return False


def ticket(name: str) -> Ticket:
    return Ticket(SessionId(name), 0.0, [], 1)


def queue() -> Fcfs[Ticket]:
    return Fcfs(EmptyServer(), SessionTable(Unknown()))


def names(waiting: Fcfs[Ticket]) -> str:
    return "".join(ticket.session for ticket in waiting)


def test_first_come_first_served_with_the_preempted_in_front() -> None:
    waiting, tickets = queue(), {name: ticket(name) for name in "abcd"}
    for name in "ab":
        waiting.add(tickets[name])
    waiting.put_back(tickets["d"])  # preempted first, as it was admitted last
    waiting.put_back(tickets["c"])
    assert names(waiting) == "cdab"
    assert waiting.first() is tickets["c"]
    waiting.admitted(tickets["c"])
    waiting.remove(tickets["a"])
    assert (names(waiting), len(waiting)) == ("db", 2)


def test_nobody_is_first_in_an_empty_queue_and_a_stranger_is_an_error() -> None:
    waiting = queue()
    assert waiting.first() is None
    with pytest.raises(ValueError, match="not in deque"):
        waiting.remove(ticket("a"))
