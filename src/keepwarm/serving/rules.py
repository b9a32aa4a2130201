"""Queue orders and evictions by their names, put together for one run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.policies import POLICIES
from keepwarm.policies.base import VictimOrder
from keepwarm.policies.belady import Belady
from keepwarm.policies.cachewise import N_REBUILD, CacheWise
from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.estimators.base import Estimator
from keepwarm.reuse.estimators.learned import Learned
from keepwarm.reuse.estimators.oracle import Oracle
from keepwarm.reuse.estimators.tool_mean import ToolMean
from keepwarm.reuse.estimators.ttl import Ttl
from keepwarm.reuse.estimators.unknown import Unknown
from keepwarm.reuse.predictor import ReuseModel
from keepwarm.scheduling.base import QueueOrder
from keepwarm.scheduling.orders import ORDERS
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.serving.base import RequestState

BY_BLOCK = tuple(name for name in POLICIES if name != Belady.name)  # which reads one recorded order
BY_SESSION = ("cachewise", ToolMean.name, Ttl.name, Oracle.name)
EVICTIONS = (*BY_BLOCK, *BY_SESSION)
"""Every eviction by its name: block policies, and CacheWise's rule over four estimators."""


class Eviction(NamedTuple):
    """A victim order and what it knows of sessions."""

    policy: VictimOrder
    sessions: SessionTable


def queue_order(name: str) -> type[QueueOrder[RequestState]]:
    """Raises InputError for a name that no order has."""
    if name not in ORDERS:
        raise InputError(f"no queue order {name!r}; there are {', '.join(ORDERS)}")
    return ORDERS[name]


def check_eviction(name: str, model: ReuseModel | None) -> None:
    """Raise InputError for a name that no eviction has, or one that needs a model and has none."""
    if name not in EVICTIONS:
        raise InputError(f"no eviction {name!r}; there are {', '.join(EVICTIONS)}")
    if name == "cachewise" and model is None:
        raise InputError(
            "eviction 'cachewise' predicts by a model; give --reuse-model FILE (from `keepwarm reuse fit`), "
            "in the spec of a sweep reuse_model"
        )


def eviction(
    name: str,
    capacity_blocks: int,
    *,
    model: ReuseModel | None,
    gaps_s: Mapping[SessionId, float],
    n_rebuild: int = N_REBUILD,
) -> Eviction:
    """``gaps_s`` are the true lengths of the gaps that run now: of them only the oracle is told.

    Raises InputError for a name that no eviction has, or one that needs a model and has none.
    """
    check_eviction(name, model)
    if name in BY_BLOCK:
        estimator: Estimator = Unknown() if model is None else Learned(model)
        return Eviction(POLICIES[name](capacity_blocks), SessionTable(estimator))
    sessions = SessionTable(_estimator(name, model, gaps_s))
    return Eviction(CacheWise(capacity_blocks, sessions, n_rebuild=n_rebuild), sessions)


def _estimator(name: str, model: ReuseModel | None, gaps_s: Mapping[SessionId, float]) -> Estimator:
    if name == ToolMean.name:
        return ToolMean()
    if name == Ttl.name:
        return Ttl()
    if name == Oracle.name:
        return Oracle(gaps_s.get)
    assert model is not None, "checked"
    return Learned(model)
