"""The anchor: a fleet of one is the server of ``serving``, to the last bit, whoever balances it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm.fleet.balancers import BALANCERS
from keepwarm.fleet.options import FleetOptions
from keepwarm.fleet.simulate import simulate_fleet
from keepwarm.scheduling.orders import ORDERS
from keepwarm.serving.options import Population, ServingOptions
from keepwarm.serving.profile import load_profile
from keepwarm.serving.rules import EVICTIONS
from keepwarm.serving.simulate import simulate
from keepwarm.workload.base import SessionTrace, Workload
from tests.fleet.runs import STARVING
from tests.serving.runs import BLOCK, sessions
from tests.serving.test_simulate import WORKLOAD
from tests.serving.test_timeline import MODEL

SERVER = ServingOptions(
    profile=load_profile("cpu-smollm2"), capacity_tokens=BLOCK * 18, step_tokens=24, reuse_model=MODEL
)


@settings(max_examples=150, deadline=None)
@given(
    traces=sessions(18),
    balancer=st.sampled_from(sorted(BALANCERS)),
    order=st.sampled_from(sorted(ORDERS)),
    eviction=st.sampled_from(EVICTIONS),
    population=st.sampled_from(Population),
    seed=st.integers(0, 9),
)
def test_one_replica_is_the_server(
    traces: list[SessionTrace],
    balancer: str,
    order: str,
    eviction: str,
    population: Population,
    seed: int,
) -> None:
    workload = Workload(BLOCK, traces)
    server = replace(
        SERVER,
        scheduling=order,
        eviction=eviction,
        population=Population.TOGETHER if order in STARVING else population,
        seed=seed,
        sessions=min(3, len(traces)),
    )
    row = simulate_fleet(workload, FleetOptions(server=server, balancer=balancer))
    assert row.overall == simulate(workload, server)
    assert (row.moves, row.hot_spot_share, row.served_tokens.cv, row.queue_wait_s.cv) == (0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("order", sorted(ORDERS))
def test_host_memory_too(order: str) -> None:
    profile = load_profile("l4-qwen3-4b")
    server = ServingOptions(
        profile=profile, capacity_tokens=1600, sessions=9, host_memory_gib=0.01, scheduling=order
    )
    assert simulate_fleet(WORKLOAD, FleetOptions(server=server)).overall == simulate(WORKLOAD, server)
