"""Queue orders and evictions by their names."""

from __future__ import annotations

from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.policies import POLICIES
from keepwarm.policies.base import VictimOrder
from keepwarm.reuse.estimators.base import Estimator
from keepwarm.reuse.estimators.unknown import Unknown
from keepwarm.scheduling.base import QueueOrder
from keepwarm.scheduling.fcfs import Fcfs
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.serving.base import RequestState

ORDERS: dict[str, type[QueueOrder[RequestState]]] = {Fcfs.name: Fcfs}


class Eviction(NamedTuple):
    """A victim order and what it knows of sessions."""

    policy: VictimOrder
    sessions: SessionTable


def queue_order(name: str) -> type[QueueOrder[RequestState]]:
    """Raises InputError for a name that no order has."""
    if name not in ORDERS:
        raise InputError(f"no queue order {name!r}; there are {', '.join(sorted(ORDERS))}")
    return ORDERS[name]


def eviction(name: str, capacity_blocks: int) -> Eviction:
    """Raises InputError for a name that no eviction has."""
    if name not in POLICIES:
        raise InputError(f"no eviction {name!r}; there are {', '.join(sorted(POLICIES))}")
    estimator: Estimator = Unknown()
    return Eviction(POLICIES[name](capacity_blocks), SessionTable(estimator))
