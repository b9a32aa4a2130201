"""Several replicas on one clock: nothing depends on how far ahead each of them is computed."""

from __future__ import annotations

from dataclasses import replace
from math import nextafter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.fleet.balancers import BALANCERS
from keepwarm.fleet.grid import fleets, simulate_fleets
from keepwarm.fleet.load_watch import LoadWatch
from keepwarm.fleet.options import FleetOptions
from keepwarm.fleet.replica import Replica
from keepwarm.fleet.row import spread
from keepwarm.fleet.simulate import fleet_cast, simulate_fleet
from keepwarm.serving.base import RequestId
from keepwarm.serving.grid import combinations
from keepwarm.serving.options import Population
from keepwarm.serving.simulate import simulate
from keepwarm.workload.base import SessionTrace, Workload
from tests.fleet.runs import SERVER, STARVING, fleet, growing, watch
from tests.serving.runs import BLOCK, session, sessions, turn

LOOK_AHEAD = Replica._look_ahead


def in_lock_step(replica: Replica) -> None:
    """Whoever is busy may be followed at any time: nobody goes on for more than a step."""
    LOOK_AHEAD(replica)
    replica.following_s = nextafter(replica.now_s, float("inf")) if replica.is_busy else float("inf")


@settings(max_examples=40, deadline=None)
@given(
    traces=sessions(18),
    balancer=st.sampled_from(sorted(BALANCERS)),
    order=st.sampled_from(["fcfs", "cachewise", "active-set"]),
    eviction=st.sampled_from(["lru", "oracle"]),
    population=st.sampled_from(Population),
    replicas=st.integers(2, 4),
)
def test_looking_ahead_changes_nothing(
    traces: list[SessionTrace],
    balancer: str,
    order: str,
    eviction: str,
    population: Population,
    replicas: int,
) -> None:
    options = fleet(
        balancer,
        replicas,
        len(traces),
        scheduling=order,
        eviction=eviction,
        population=Population.TOGETHER if order in STARVING else population,
        capacity_tokens=BLOCK * 18,
    )
    assert_nothing_is_missed(traces, options)


@settings(max_examples=40, deadline=None)
@given(
    answers=st.lists(
        st.lists(st.tuples(st.integers(1, 100), st.floats(0, 0.5)), min_size=1, max_size=4),
        min_size=2,
        max_size=5,
    ),
    balancer=st.sampled_from(["round-robin", "least-loaded"]),
    population=st.sampled_from(Population),
    replicas=st.integers(2, 4),
)
def test_long_answers_hide_nothing(
    answers: list[list[tuple[int, float]]], balancer: str, population: Population, replicas: int
) -> None:
    """Answers of many equal steps, and pauses that end in the middle of the others' answers."""
    traces = [
        session(
            f"s{number}", *(turn(8 + step, tokens, gap_s=gap_s) for step, (tokens, gap_s) in enumerate(some))
        )
        for number, some in enumerate(answers)
    ]
    assert_nothing_is_missed(traces, fleet(balancer, replicas, len(traces), population=population))


def assert_nothing_is_missed(traces: list[SessionTrace], options: FleetOptions) -> None:
    """The run as it is, and the one in which nobody looks ahead."""
    ahead = watch(Workload(BLOCK, traces), options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Replica, "_look_ahead", in_lock_step)
        stepped = watch(Workload(BLOCK, traces), options)
    assert [(choice.arrival, choice.replica) for choice in ahead.choices] == [
        (choice.arrival, choice.replica) for choice in stepped.choices
    ]
    assert ahead.ledger.windows == stepped.ledger.windows
    assert ahead.ledger.hot_spot_share == stepped.ledger.hot_spot_share
    assert times(ahead.ledger.ledger.served) == times(stepped.ledger.ledger.served)


def times(served: list) -> list[tuple]:
    return [
        (one.state.request.id, one.arrival_s, one.admitted_s, one.first_token_s, one.end_s) for one in served
    ]


@pytest.mark.parametrize("pause_s", [0.0, 0.4])
def test_a_long_answer_does_not_hide_what_arrives_meanwhile(pause_s: float) -> None:
    """One replica decodes for long; the other's answer is followed by a request to the first."""
    traces = [session("long", turn(8, 100)), session("short", turn(8, 2), turn(9, 2, gap_s=pause_s))]
    watched = watch(Workload(BLOCK, traces), fleet("round-robin", 2, 1, seed=1))
    sent = [(choice.arrival.session, choice.replica) for choice in watched.choices]
    assert sent == [("long", 0), ("short", 1), ("short", 0)]
    by_id = {one.state.request.id: one for one in watched.ledger.ledger.served}
    after, long = by_id[RequestId("short/1")], by_id[RequestId("long/0")]
    step_s = (long.end_s - long.first_token_s) / 99
    assert after.end_s < long.end_s
    assert 0 <= after.queue_wait_s < 3 * step_s


def test_replicas_apart_are_servers_apart() -> None:
    """Two sessions that stick to two replicas take what each takes on a server of its own."""
    workload = growing(2)
    row = simulate_fleet(workload, fleet("sticky", 2, 1))
    alone = [
        simulate(Workload(BLOCK, [trace]), replace(SERVER, sessions=1)).session_completion_s
        for trace in workload.sessions
    ]
    assert row.overall.session_completion_s == pytest.approx(sum(alone) / 2, rel=1e-12)
    assert [one.requests for one in row.per_replica] == [4, 4]
    assert row.hot_spot_share == 0


def test_a_fleet_larger_than_the_trace_gets_copies_that_share_nothing() -> None:
    options = fleet("sticky", 3, 2)
    cast = fleet_cast(growing(2), options, 1000)
    assert [str(trace.id) for trace in cast.first][2:] == [
        f"{cast.first[number % 2].id}#{1 + number // 2}" for number in range(4)
    ]
    blocks = [{block for turn in trace.turns for block in turn.blocks} for trace in cast.first]
    assert len(set().union(*blocks)) == sum(map(len, blocks))


def test_hot_is_more_than_twice_the_mean_of_the_time_that_counts() -> None:
    loads = LoadWatch(4)
    loads.note(0.0, 0, 10)  # alone: four times the mean
    loads.begin(1.0)
    loads.note(3.0, 1, 10)  # two of four: twice, not more
    loads.note(2.0, 2, 1)  # told late
    loads.settle(2.5)
    loads.note(5.0, 1, 0)
    loads.note(7.0, 0, 0)
    loads.note(7.0, 2, 0)
    assert loads.end(11.0) == pytest.approx((2 + 2) / 10)


def test_spread_is_over_replicas() -> None:
    assert spread([1, 3]).cv == pytest.approx(0.5)
    assert (spread([1, 3]).mean, spread([1, 3]).max) == (2.0, 3.0)
    assert spread([0, 0]).cv == 0.0


def grid(**changes: object) -> list[FleetOptions]:
    runs = combinations(
        replace(SERVER, **changes), scheduling=["active-set"], eviction=["lru"], sessions=[3], seeds=[0, 1]
    )
    return fleets(runs, balancers=["round-robin", "sticky"], replicas=[1, 2], load_bound=1.25)


def test_gains_are_made_of_the_rows_that_are_told() -> None:
    workload = growing(6)
    found = simulate_fleets(workload, grid())
    assert [(row.balancer, row.replicas, row.seed) for row in found.rows] == [
        (name, count, seed) for name in ("round-robin", "sticky") for count in (1, 2) for seed in (0, 1)
    ]
    told = {
        (row.balancer if row.replicas > 1 else "", row.replicas, row.scheduling, row.seed): row
        for row in (*found.rows, *found.compared_with)
    }
    for row in found.rows:
        name = row.balancer if row.replicas > 1 else ""
        total = {
            (count, order): told[
                (name if count > 1 else "", count, order, row.seed)
            ].overall.session_completion_s
            for count in {1, row.replicas}
            for order in ("fcfs", "active-set")
        }
        gain = total[row.replicas, "fcfs"] / total[row.replicas, "active-set"]
        assert row.gain == pytest.approx(gain)
        assert row.gain_kept == pytest.approx(gain * total[1, "active-set"] / total[1, "fcfs"])
    assert {row.scheduling for row in found.compared_with} == {"fcfs"}


def test_processes_tell_the_same() -> None:
    workload = growing(6)
    assert simulate_fleets(workload, grid()[:3], processes=2) == simulate_fleets(workload, grid()[:3])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"replicas": 0}, "replicas is 0"),
        ({"replicas": 5000}, "replicas is 5000"),
        ({"balancer": "dice"}, "no balancer 'dice'; there are round-robin"),
        ({"load_bound": 0.5}, "load_bound is 0.5"),
        ({"load_bound": float("nan")}, "load_bound is nan"),
        ({"server": replace(SERVER, sessions=7)}, "7 sessions are asked for and 6 of 6 fit"),
        ({"server": replace(SERVER, scheduling="lifo")}, "no queue order 'lifo'"),
        ({"server": replace(SERVER, eviction="mru")}, "no eviction 'mru'"),
    ],
)
def test_what_cannot_be_is_refused(change: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        simulate_fleets(growing(6), [replace(fleet("sticky", 2, 2), **change)])
