"""Whole runs: who takes part, what is measured, the figures, and that nothing depends on hash seeds."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from keepwarm._errors import InputError
from keepwarm.scheduling.active_set import ActiveSet
from keepwarm.serving.alone import alone_s
from keepwarm.serving.grid import combinations, simulate_all
from keepwarm.serving.options import Population, ServingOptions
from keepwarm.serving.population import choose
from keepwarm.serving.profile import load_profile, shipped_profiles
from keepwarm.serving.row import jain_index, quantile
from keepwarm.serving.rules import EVICTIONS
from keepwarm.serving.simulate import check_run, simulate
from keepwarm.workload.base import Workload
from tests.serving.runs import session, turn

BASE = ServingOptions(profile=load_profile("cpu-smollm2"), capacity_tokens=2032, sessions=3)


def workload_of(count: int = 9, seed: int = 0) -> Workload:
    """Sessions of a few requests whose contexts grow to a third of the cache and more."""
    chances = random.Random(seed)
    made = []
    for number in range(count):
        blocks, turns = list(range(number * 1000, number * 1000 + 20)), []
        for step in range(chances.randint(2, 5)):
            turns.append(turn(len(blocks) * 16 + 5, chances.randint(1, 30), blocks, 3.0 * bool(step)))
            blocks = [*blocks, *range(blocks[-1] + 1, blocks[-1] + chances.randint(2, 12))]
        made.append(session(f"s{number}", *turns))
    return Workload(16, made)


WORKLOAD = workload_of()


@pytest.mark.parametrize("eviction", [name for name in EVICTIONS if name != "cachewise"])
@pytest.mark.parametrize("order", ["fcfs", "longest-prefix", "cachewise", "active-set"])
def test_every_order_and_eviction_serves_all(order: str, eviction: str) -> None:
    row = simulate(WORKLOAD, replace(BASE, scheduling=order, eviction=eviction, sessions=9))
    assert row.requests == sum(len(trace.turns) for trace in WORKLOAD.sessions)
    assert 0 < row.request_latency_s.p50 <= row.request_latency_s.p99 <= row.request_latency_s.max
    assert 0 < row.hit_rate < 1
    assert row.evicted_blocks > 0
    assert 1 / 9 <= row.jain_index <= 1


def test_a_session_alone_takes_what_is_said_to_be_its_time_alone() -> None:
    for trace in WORKLOAD.sessions:
        row = simulate(Workload(16, [trace]), replace(BASE, sessions=1))
        config, _ = check_run(WORKLOAD, BASE)
        assert row.session_completion_s == pytest.approx(alone_s(trace, config, BASE.profile.coefficients()))
        assert row.slowdown_p99 == pytest.approx(1.0)


def test_the_seed_chooses_sessions_and_their_order() -> None:
    casts = [
        [trace.id for trace in choose(WORKLOAD, replace(BASE, seed=seed), 2032).first] for seed in (0, 0, 1)
    ]
    assert casts[0] == casts[1] != casts[2]


def test_a_constant_population_stays_until_the_measured_have_ended() -> None:
    options = replace(BASE, population=Population.CONSTANT, sessions=4)
    cast = choose(WORKLOAD, options, 2032)
    assert (len(cast.first), list(cast.measured)) == (4, [4, 5, 6, 7])
    later = [next(cast.later) for _ in range(14)]
    assert [trace.id for trace in later[5:7]] == [f"{cast.first[0].id}#1", f"{cast.first[1].id}#1"]
    again = {block for trace in later[5:] for turn in trace.turns for block in turn.blocks}
    assert again.isdisjoint(
        block for trace in WORKLOAD.sessions for turn in trace.turns for block in turn.blocks
    )
    row = simulate(WORKLOAD, options)
    assert row.requests == sum(len(trace.turns) for trace in later[:4])
    assert row.makespan_s > 0


def test_longer_gaps_relieve_the_server() -> None:
    tight, wide = (simulate(WORKLOAD, replace(BASE, sessions=9, gap_scale=scale)) for scale in (0.0, 50.0))
    assert wide.request_latency_s.p99 < tight.request_latency_s.p99


def test_host_memory_is_read_instead_of_computing() -> None:
    profile = load_profile("l4-qwen3-4b")
    options = replace(BASE, profile=profile, capacity_tokens=1600, sessions=9)
    without, with_tier = (simulate(WORKLOAD, replace(options, host_memory_gib=gib)) for gib in (0.0, 10.0))
    assert without.recomputed_tokens > 0 == without.reloaded_blocks
    assert with_tier.recomputed_tokens == 0 < with_tier.reloaded_blocks
    assert with_tier.session_completion_s < without.session_completion_s
    tiny = simulate(WORKLOAD, replace(options, host_memory_gib=0.01))
    assert 0 < tiny.reloaded_blocks < with_tier.reloaded_blocks


def test_nobody_is_held_back_where_reading_is_cheap() -> None:
    profile = load_profile("l4-qwen3-4b")
    options = replace(BASE, profile=profile, capacity_tokens=1600, sessions=9, host_memory_gib=10.0)
    fcfs = simulate(WORKLOAD, options)
    gated = simulate(WORKLOAD, replace(options, scheduling=ActiveSet.name))
    assert replace_names(gated) == replace_names(fcfs)


def replace_names(row: object) -> list[object]:
    return [value for name, value in _fields(row) if name not in ("scheduling", "probed_blocks")]


def _fields(row: object) -> list[tuple[str, object]]:
    return [(name, getattr(row, name)) for name in row.__struct_fields__]  # type: ignore[attr-defined]


def test_a_grid_is_in_the_order_asked_for_and_the_same_in_processes() -> None:
    runs = combinations(
        BASE, scheduling=["cachewise", "fcfs"], eviction=["lru"], sessions=[4, 2], seeds=[1, 0]
    )
    rows = simulate_all(WORKLOAD, runs)
    assert [(row.scheduling, row.sessions, row.seed) for row in rows] == [
        (order, count, seed) for order in ("cachewise", "fcfs") for count in (4, 2) for seed in (1, 0)
    ]
    assert simulate_all(WORKLOAD, runs[:3], processes=2) == rows[:3]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sessions": 10}, "10 sessions are asked for and 9 of 9 fit"),
        ({"sessions": 0}, "sessions is 0"),
        ({"capacity_tokens": 320}, "0 of 9 fit"),
        ({"capacity_tokens": 8}, "capacity_tokens is 8: no room for a block of 16 tokens"),
        ({"gap_scale": -1.0}, "gap_scale is -1.0"),
        ({"gap_scale": float("nan")}, "gap_scale is nan"),
        ({"gap_scale": 1e308}, "never ends; give less"),
        ({"scheduling": "lifo"}, "no queue order 'lifo'; there are fcfs"),
        ({"eviction": "mru"}, "no eviction 'mru'; there are lru"),
        ({"eviction": "cachewise"}, "--reuse-model"),
        ({"host_memory_gib": 1.0}, "has no link to host memory"),
    ],
)
def test_what_cannot_be_is_refused(change: dict, words: str) -> None:
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        simulate_all(WORKLOAD, [replace(BASE, **change)])


def test_profiles_that_ship_can_be_loaded() -> None:
    assert shipped_profiles() == ["2xh200-32b", "cpu-smollm2", "l4-qwen3-4b"]
    for name in shipped_profiles():
        profile = load_profile(name)
        assert profile.name == name
        assert profile.sources


def test_figures() -> None:
    assert quantile([1.0, 2.0, 3.0], 0.5) == 2.0
    assert quantile([0.0, 10.0], 0.99) == pytest.approx(9.9)
    assert quantile([], 0.5) == 0.0
    assert jain_index([1.0, 1.0]) == 1.0
    assert jain_index([1.0, 0.0]) == 0.5
