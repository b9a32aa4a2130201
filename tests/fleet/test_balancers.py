"""What every balancer has to do, and what each of them is for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm.fleet.balancers import BALANCERS
from keepwarm.fleet.balancers.base import Arrival
from keepwarm.fleet.simulate import simulate_fleet
from keepwarm.policies.base import BlockHash
from keepwarm.policies.sessions import SessionId
from keepwarm.workload.base import SessionTrace, Workload
from tests.fleet.runs import fleet, growing, watch
from tests.serving.runs import BLOCK, session, sessions, turn


@dataclass
class Shown:
    """A replica that shows what a test wants, and counts nothing."""

    load_tokens: int = 0
    waiting_requests: int = 0
    running_requests: int = 0
    sent_requests: int = 0
    cached: list[int] = field(default_factory=list)
    sessions: frozenset[str] = frozenset()

    def resident_blocks(self, lookup_blocks: Sequence[BlockHash]) -> int:
        found = 0
        while (
            found < min(len(lookup_blocks), len(self.cached)) and self.cached[found] == lookup_blocks[found]
        ):
            found += 1
        return found

    def has_served(self, session: SessionId) -> bool:
        return session in self.sessions


def arrival(name: str, *blocks: int) -> Arrival:
    return Arrival(SessionId(name), [BlockHash(block) for block in blocks])


shown = st.builds(
    Shown,
    load_tokens=st.integers(0, 50),
    waiting_requests=st.integers(0, 3),
    running_requests=st.integers(0, 3),
    sent_requests=st.integers(0, 9),
    cached=st.lists(st.integers(0, 2), max_size=4),
    sessions=st.frozensets(st.sampled_from("ab")),
)
arrivals = st.lists(
    st.builds(
        lambda name, blocks: arrival(name, *blocks),
        st.sampled_from("abc"),
        st.lists(st.integers(0, 2), max_size=4),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("name", BALANCERS)
@given(replicas=st.lists(shown, min_size=1, max_size=5), arrivals=arrivals)
def test_a_balancer_names_a_replica_and_looks_without_touching(
    name: str, replicas: list[Shown], arrivals: list[Arrival]
) -> None:
    before = repr((replicas, arrivals))
    first, second = (BALANCERS[name](replicas) for _ in range(2))
    chosen = [first.choose(one) for one in arrivals]
    assert set(chosen) <= set(range(len(replicas)))
    assert [second.choose(one) for one in arrivals] == chosen
    assert repr((replicas, arrivals)) == before
    assert BALANCERS[name].name == name


@pytest.mark.parametrize("name", BALANCERS)
def test_idle_replicas_take_turns(name: str) -> None:
    replicas = [Shown() for _ in range(3)]
    balancer = BALANCERS[name](replicas)
    for number in range(6):
        chosen = balancer.choose(arrival(f"s{number}", number))
        replicas[chosen].sent_requests += 1
    assert [replica.sent_requests for replica in replicas] == [2, 2, 2]


@pytest.mark.parametrize("name", BALANCERS)
@settings(max_examples=15, deadline=None)
@given(traces=sessions(18), replicas=st.integers(2, 4), seed=st.integers(0, 3))
def test_every_request_is_served_once_where_the_balancer_said(
    name: str, traces: list[SessionTrace], replicas: int, seed: int
) -> None:
    workload = Workload(BLOCK, traces)
    watched = watch(workload, fleet(name, replicas, len(traces), seed=seed))
    sent: defaultdict[int, list[str]] = defaultdict(list)
    asked: defaultdict[str, int] = defaultdict(int)
    for choice in watched.choices:
        session_id = choice.arrival.session
        sent[choice.replica].append(f"{session_id}/{asked[session_id]}")
        asked[session_id] += 1
    served = [[one.state.request.id for one in some] for some in watched.ledger.served]
    assert [sorted(some) for some in served] == [sorted(sent[index]) for index in range(replicas)]
    assert sum(map(len, served)) == replicas * sum(len(trace.turns) for trace in traces)
    for one in watched.ledger.ledger.served:
        assert one.arrival_s <= one.admitted_s < one.first_token_s <= one.end_s
        assert one.state.known_tokens == one.state.final_tokens
    assert watched.ledger.ledger.window.requests == sum(window.requests for window in watched.ledger.windows)


@settings(max_examples=20, deadline=None)
@given(traces=sessions(18), replicas=st.integers(2, 4))
def test_sticky_never_moves_a_session(traces: list[SessionTrace], replicas: int) -> None:
    watched = watch(Workload(BLOCK, traces), fleet("sticky", replicas, len(traces)))
    homes: defaultdict[str, set[int]] = defaultdict(set)
    for choice in watched.choices:
        homes[choice.arrival.session].add(choice.replica)
    assert all(len(home) == 1 for home in homes.values())
    assert (watched.ledger.moves, watched.ledger.moved_sessions) == (0, 0)


def test_what_moves_is_counted() -> None:
    watched = watch(growing(6), fleet("round-robin", 3, 2))
    last: dict[str, int] = {}
    moves: defaultdict[str, int] = defaultdict(int)
    for choice in watched.choices:
        name = choice.arrival.session
        moves[name] += last.get(name, choice.replica) != choice.replica
        last[name] = choice.replica
    assert watched.ledger.moves == sum(moves.values()) > 0
    assert watched.ledger.moved_sessions == sum(count > 0 for count in moves.values())


@pytest.mark.parametrize("name", ["sticky", "longest-prefix", "prefix-bounded"])
def test_who_finds_the_prefix_hits_more(name: str) -> None:
    workload = growing(9, turns=5)
    rows = [simulate_fleet(workload, fleet(one, 3, 3)) for one in (name, "round-robin")]
    assert rows[0].overall.hit_rate > rows[1].overall.hit_rate
    assert rows[0].overall.requests == rows[1].overall.requests == 45


def test_the_longest_prefix_wins_and_load_decides_between_equals() -> None:
    replicas = [Shown(9, cached=[1]), Shown(90, cached=[1, 2]), Shown(5), Shown(5, 0, 1)]
    balancer = BALANCERS["longest-prefix"](replicas)
    assert balancer.choose(arrival("a", 1, 2, 3)) == 1
    assert balancer.choose(arrival("a", 1, 3)) == 0
    assert balancer.choose(arrival("a", 7)) == 2


def test_beyond_the_bound_the_next_best_is_taken() -> None:
    replicas = [Shown(10, cached=[1]), Shown(26, cached=[1, 2]), Shown(24)]
    assert BALANCERS["prefix-bounded"](replicas, load_bound=1.25).choose(arrival("a", 1, 2)) == 0
    assert BALANCERS["prefix-bounded"](replicas, load_bound=1.3).choose(arrival("a", 1, 2)) == 1


def test_bounded_stays_below_its_bound_where_the_longest_prefix_does_not() -> None:
    """All sessions begin alike, so the longest prefix is where the first one went."""
    shared = list(range(10))
    made = [
        session(
            f"s{number}",
            *(
                turn((12 + step) * BLOCK, 4, [*shared, 100 * number + 100, 100 * number + 101], 0.2 * step)
                for step in range(4)
            ),
        )
        for number in range(12)
    ]
    workload = Workload(BLOCK, made)

    def worst(name: str) -> float:
        choices = watch(workload, fleet(name, 3, 4)).choices
        return max(
            choice.loads_tokens[choice.replica] * 3 / max(1, sum(choice.loads_tokens)) for choice in choices
        )

    assert worst("prefix-bounded") <= 1.25
    assert worst("longest-prefix") > 1.25
