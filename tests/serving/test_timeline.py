"""A watched run decides and counts as an unwatched one, and what it tells adds up to the row."""

from __future__ import annotations

import json
import os
import statistics
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.policies.lru import Lru
from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.curves import Curve
from keepwarm.reuse.estimators.oracle import Oracle
from keepwarm.reuse.predictor import Fitted, ReuseModel
from keepwarm.scheduling.orders import ORDERS
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.serving import grid
from keepwarm.serving.base import ServerConfig
from keepwarm.serving.clients import Clients
from keepwarm.serving.glide import GlidingEngine
from keepwarm.serving.grid import combinations, simulate_all
from keepwarm.serving.options import Population, ServingOptions
from keepwarm.serving.pool import ServingPool
from keepwarm.serving.population import Cast
from keepwarm.serving.profile import load_profile
from keepwarm.serving.row import Row
from keepwarm.serving.rules import EVICTIONS
from keepwarm.serving.simulate import simulate
from keepwarm.serving.timeline import Timeline
from keepwarm.serving.timeline_files import TimelineFolder
from keepwarm.serving.timeline_points import Point, WantedBlocks, thinned
from keepwarm.serving.timeline_recorder import Recorded, RecordingLoop, record
from keepwarm.workload.base import SessionTrace, Trigger, Workload
from tests.serving.runs import BLOCK, COSTS, Stepped, session, sessions, turn
from tests.serving.test_simulate import WORKLOAD

MODEL = ReuseModel(
    Fitted("test", "test", 0, 1, 30, 0, ()),
    Curve((0.3, 2.0, 9.0), (0.8, 0.4, 0.1), end_s=9.0, beyond_s=20.0, samples=30),
    {},
)
BASE = ServingOptions(
    profile=load_profile("cpu-smollm2"), capacity_tokens=2032, sessions=9, reuse_model=MODEL
)
SHA = "0" * 64


def watched(options: ServingOptions, workload: Workload = WORKLOAD) -> Recorded:
    return record(workload, options, trace_sha256=SHA)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("eviction", EVICTIONS)
@pytest.mark.parametrize("order", ORDERS)
def test_watching_changes_no_row(order: str, eviction: str, seed: int) -> None:
    options = replace(BASE, scheduling=order, eviction=eviction, seed=seed, sessions=6)
    recorded = watched(options)
    assert recorded.row == simulate(WORKLOAD, options)
    adds_up(recorded)


@pytest.mark.parametrize(
    "change",
    [
        {"population": Population.CONSTANT, "sessions": 4},
        {"capacity_tokens": 1600, "host_memory_gib": 10.0},
        {"capacity_tokens": 1600, "host_memory_gib": 0.01},
        {"step_tokens": 64},
        {"gap_scale": 0.0},
        {"gap_scale": 50.0},
    ],
)
@pytest.mark.parametrize("order", ["fcfs", "active-set"])
def test_watching_changes_no_row_of_other_settings(order: str, change: dict[str, Any]) -> None:
    options = replace(BASE, profile=load_profile("l4-qwen3-4b"), scheduling=order, **change)
    recorded = watched(options)
    assert recorded.row == simulate(WORKLOAD, options)
    if options.population is Population.TOGETHER:
        adds_up(recorded)


@settings(max_examples=60, deadline=None)
@given(
    traces=sessions(most_blocks=13),
    order=st.sampled_from(sorted(ORDERS)),
    eviction=st.sampled_from(EVICTIONS),
    step_tokens=st.sampled_from([3, 7, 64]),
    seed=st.integers(0, 3),
)
def test_watching_changes_no_row_of_any_workload(
    traces: list[SessionTrace], order: str, eviction: str, step_tokens: int, seed: int
) -> None:
    workload = Workload(BLOCK, traces)
    options = replace(
        BASE,
        scheduling=order,
        eviction=eviction,
        seed=seed,
        sessions=len(traces),
        capacity_tokens=16 * BLOCK,
        step_tokens=step_tokens,
    )
    recorded = watched(options, workload)
    assert recorded.row == simulate(workload, options)
    adds_up(recorded)


def adds_up(recorded: Recorded) -> None:
    """Of a run whose sessions are all measured: every figure that both have is the same."""
    row, timeline = recorded
    told, bs = timeline.sessions, timeline.block_size
    assert len(told) == row.sessions
    assert sum(len(one.end_s) for one in told) == row.requests
    assert sum(sum(one.recomputed_tokens) for one in told) == row.recomputed_tokens
    assert sum(sum(one.reloaded_tokens) for one in told) == row.reloaded_blocks * bs
    assert sum(sum(one.preemptions) for one in told) == row.preemptions
    asked = sum(sum(one.prompt_tokens) for one in told)
    assert sum(sum(one.hit_tokens) for one in told) / asked == row.hit_rate
    tokens = asked + sum(sum(one.output_tokens) for one in told)
    assert (tokens - row.recomputed_tokens) / row.makespan_s == row.token_goodput
    completions = [
        sum(end - start for start, end in zip(one.arrival_s, one.end_s, strict=True)) for one in told
    ]
    assert statistics.fmean(completions) == pytest.approx(row.session_completion_s)
    assert max(end for one in told for end in one.end_s) == row.makespan_s
    for one in told:
        times = list(zip(one.arrival_s, one.admitted_s, one.first_token_s, one.end_s, strict=True))
        assert all(list(four) == sorted(four) for four in times)
        assert all(before[3] <= after[0] for before, after in pairwise(times))
        assert [gap == "end" for gap in one.gap] == [False] * (len(times) - 1) + [True]
    in_order(timeline)


def in_order(timeline: Timeline) -> None:
    shown = timeline.working_set
    assert shown.at_s == sorted(shown.at_s)
    assert all(
        0 <= cached <= wanted for cached, wanted in zip(shown.cached_tokens, shown.wanted_tokens, strict=True)
    )
    assert max(shown.cached_tokens) <= timeline.capacity_tokens
    assert (shown.wanted_tokens[-1], shown.waiting[-1], shown.running[-1]) == (0, 0, 0)


def test_a_run_by_hand() -> None:
    """Two sessions, a cache of 8 blocks of 4: b evicts a, which comes back and is computed again."""
    workload = Workload(
        BLOCK,
        [
            session("a", turn(13, 2, [1, 2, 3]), turn(17, 1, [1, 2, 3, 4], 1_000.0)),
            session("b", turn(29, 3, [11, 12, 13, 14, 15, 16, 17], trigger=Trigger.HUMAN)),
        ],
    )
    options = replace(BASE, capacity_tokens=8 * BLOCK, sessions=2, seed=1, step_tokens=64)
    row, timeline = watched(options, workload)
    told = {one.id: one for one in timeline.sessions}
    a, b = told["a"], told["b"]
    assert (a.hit_tokens, a.recomputed_tokens, a.preemptions) == ([0, 0], [0, 3 * BLOCK], [0, 0])
    assert (b.hit_tokens, b.recomputed_tokens, b.output_tokens) == ([0], [0], [3])
    assert (a.gap, b.gap) == (["bash", "end"], ["end"])
    assert row.makespan_s == a.end_s[1]
    assert a.arrival_s[1] == pytest.approx(a.end_s[0] + 1_000.0)
    shown = timeline.working_set
    assert shown.at_s[0] == 0.0
    assert (shown.wanted_tokens[0], shown.cached_tokens[0]) == ((3 + 7) * BLOCK, 0)
    assert (shown.waiting[0], shown.running[0]) == (2, 0)
    back = shown.at_s.index(a.arrival_s[1])
    assert (shown.wanted_tokens[back], shown.cached_tokens[back]) == (4 * BLOCK, 0)


def test_what_sessions_do_in_their_gaps() -> None:
    nameless = turn(9, 1, [1, 2], 1.0)._replace(call=None)
    two = turn(9, 1, [1, 2], 1.0)._replace(call=ToolCall("Bash+Read", "ls"))
    turns = [
        turn(9, 1, [1, 2], trigger=trigger) for trigger in (Trigger.TOOL, Trigger.HUMAN, Trigger.UNKNOWN)
    ]
    workload = Workload(BLOCK, [session("s", turns[0], *turns, nameless, two)])
    (told,) = watched(replace(BASE, capacity_tokens=64, sessions=1), workload).timeline.sessions
    assert told.gap == ["bash", "human", "unknown", "tool", "Bash+Read", "end"]


def test_sessions_that_are_not_measured_are_told_apart() -> None:
    options = replace(BASE, population=Population.CONSTANT, sessions=4)
    row, timeline = watched(options)
    measured = [one for one in timeline.sessions if one.measured]
    assert len(measured) == 4 < len(timeline.sessions)
    assert sum(len(one.end_s) for one in measured) == row.requests
    assert min(one.arrival_s[0] for one in measured) == timeline.measured_from_s > 0
    assert max(one.end_s[-1] for one in measured) - timeline.measured_from_s == pytest.approx(row.makespan_s)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=40, deadline=None)
@given(traces=sessions(most_blocks=13), step_tokens=st.sampled_from([3, 7, 64]))
def test_a_gliding_run_tells_what_a_stepped_one_does(
    order: str, traces: list[SessionTrace], step_tokens: int
) -> None:
    config = ServerConfig(BLOCK, 14, max_request_tokens=14 * BLOCK + 1, step_tokens=step_tokens)
    stepped, gliding = (loop_of(kind, order, traces, config) for kind in (Stepped, GlidingEngine))
    assert set(gliding.points) <= set(stepped.points)
    assert [times(one) for one in gliding.sessions()] == [times(one) for one in stepped.sessions()]


def times(told: Any) -> list[Any]:
    """All but who of several computing equal blocks at the same time is said to be second."""
    return [value for name, value in msgspec.structs.asdict(told).items() if name != "recomputed_tokens"]


def loop_of(kind: Any, order: str, traces: list[SessionTrace], config: ServerConfig) -> RecordingLoop:
    gaps_s: dict[SessionId, float] = {}
    table = SessionTable(Oracle(gaps_s.get))
    pool = ServingPool(config.capacity_blocks, Lru(config.capacity_blocks))
    cast = Cast(traces, iter(()), range(len(traces)), 0)
    made: list[RecordingLoop] = []
    clients = Clients(cast, 1.0)
    partial(RecordingLoop, watched=made)(
        kind(config, pool, ORDERS[order], table), clients, COSTS, cast.measured, gaps_s=gaps_s
    ).run()
    return made[0]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.lists(st.integers(0, 9), unique=True, max_size=6), st.booleans()),
        max_size=30,
    )
)
def test_wanted_blocks_are_those_of_all_contexts(moves: list[tuple[int, list[int], bool]]) -> None:
    wanted, contexts = WantedBlocks(), {}
    for number, blocks, ends in moves:
        if ends and number in contexts:
            wanted.end(number)
            del contexts[number]
        else:
            half = len(blocks) // 2
            wanted.begin(number, blocks, half)  # type: ignore[arg-type]
            assert len(wanted) == len(
                set(blocks[:half]).union(*(contexts[n] for n in contexts if n != number))
            )
            wanted.grow(number, len(blocks))
            wanted.grow(number, half)
            contexts[number] = blocks
        assert wanted.holders.keys() == set().union(*contexts.values())


POINTS = st.builds(Point, st.floats(0, 1e6), *(st.integers(0, 50) for _ in range(4)))


@settings(max_examples=200, deadline=None)
@given(st.lists(POINTS, min_size=1, max_size=300), st.integers(10, 60))
def test_thinning_keeps_the_extremes(found: list[Point], most: int) -> None:
    found.sort(key=lambda point: point.at_s)
    kept = thinned(found, most)
    assert len(kept) <= most
    assert (kept[0], kept[-1]) == (found[0], found[-1])
    places = iter(found)
    assert all(point in places for point in kept), "in order"
    for figure in range(1, len(Point._fields)):
        assert {f(point[figure] for point in kept) for f in (min, max)} == {
            f(point[figure] for point in found) for f in (min, max)
        }


def test_thinning_spends_the_points_it_may() -> None:
    found = [Point(float(at), at * 7919 % 1000, at * 104729 % 997, at % 31, at % 17) for at in range(30_000)]
    kept = thinned(found, 2_000)
    assert 1_900 < len(kept) <= 2_000
    assert max(after.at_s - before.at_s for before, after in pairwise(kept)) < 200
    assert thinned(found[:2_000], 2_000) == found[:2_000]


RUNS = combinations(
    BASE, scheduling=["fcfs", "active-set"], eviction=["lru", "cachewise"], sessions=[5], seeds=[0]
)


def test_files_are_the_same_from_processes(tmp_path: Path) -> None:
    here, there = TimelineFolder(tmp_path / "a" / "b", SHA), TimelineFolder(tmp_path / "there", SHA)
    plain: list[Row] = simulate_all(WORKLOAD, RUNS)
    assert simulate_all(WORKLOAD, RUNS, timelines=here) == plain
    assert simulate_all(WORKLOAD, RUNS, processes=2, timelines=there) == plain
    names = sorted(path.name for path in here.path.iterdir())
    assert names == [
        f"timeline-{order}-{rule}-5-0.json"
        for order in ("active-set", "fcfs")
        for rule in ("cachewise", "lru")
    ]
    for name in names:
        content = (here.path / name).read_bytes()
        assert content == (there.path / name).read_bytes()
        timeline = msgspec.json.decode(content, type=Timeline)
        assert (timeline.schema, timeline.trace_sha256) == ("keepwarm.serving-timeline/1", SHA)
        assert name == f"timeline-{timeline.scheduling}-{timeline.eviction}-{len(timeline.sessions)}-0.json"
        assert next(iter(json.loads(content))) == "schema"


def test_a_folder_that_cannot_be_is_refused_before_any_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid, "record", pytest.fail)
    taken = tmp_path / "taken"
    taken.write_text("")
    for path in (taken, taken / "below", Path("nul\0")):
        with pytest.raises(InputError, match="name a folder that is there or can be made"):
            simulate_all(WORKLOAD, RUNS, timelines=TimelineFolder(path, SHA))
    monkeypatch.setattr(os, "access", lambda *_: False)  # nothing is kept from root
    with pytest.raises(InputError, match="is not writable"):
        simulate_all(WORKLOAD, RUNS, timelines=TimelineFolder(tmp_path, SHA))
