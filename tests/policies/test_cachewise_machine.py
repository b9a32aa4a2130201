"""CacheWise does what the rule says, event for event: alone, in a pool, and while ranks change."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from keepwarm.policies import session_groups
from keepwarm.policies.base import BlockId
from keepwarm.policies.cachewise import CacheWise
from keepwarm.policies.lru import Lru
from keepwarm.policies.sessions import ReuseRank, SessionId, Tier
from tests.policies.naive_cachewise import Naive
from tests.policies.ranks import Equal, Scattered
from tests.policies.streams import Server, block, drive

SESSIONS = [SessionId(f"s{i}") for i in range(11)]  # more than a block remembers as owners

seeds = st.integers(0, 2**32 - 1)
sessions = st.sampled_from(SESSIONS)
ranks = st.builds(
    ReuseRank,
    st.sampled_from(list(Tier)),
    st.sampled_from([-2.0, -0.0, 0.0, 1.0, 7.5, math.inf, math.nan]),
)


class Changing:
    """Ranks that a machine sets, and some that cannot be had."""

    def __init__(self) -> None:
        self.now: dict[SessionId, ReuseRank | None] = {}

    def rank(self, session: SessionId) -> ReuseRank:
        rank = self.now.get(session, ReuseRank(Tier.TOOL, 0.0))
        if rank is None:
            raise ZeroDivisionError(session)
        return rank


class Alone(RuleBasedStateMachine):
    """The policy and the rule hear of the same events."""

    def __init__(self) -> None:
        super().__init__()
        self.ranks = Changing()
        self.policy = CacheWise(12, self.ranks)
        self.naive = Naive(12, self.ranks)
        self.both = (self.policy, self.naive)
        self.used: dict[int, int] = {}  # users of each block that has its hash, 0 if it is free
        self.turn = 0

    def ids(self, *, free: bool) -> list[int]:
        return sorted(block_id for block_id, users in self.used.items() if (users == 0) == free)

    @rule(session=sessions)
    def serve(self, session: SessionId) -> None:
        for policy in self.both:
            policy.serve(session)

    @rule(steps=st.integers(1, 4))
    def begin_steps(self, steps: int) -> None:
        for _ in range(steps):
            for policy in self.both:
                policy.begin_step()

    @rule(session=sessions, rank=st.none() | ranks)
    def change_a_rank(self, session: SessionId, rank: ReuseRank | None) -> None:
        self.ranks.now[session] = rank

    @rule(session=sessions)
    def reconsider(self, session: SessionId) -> None:
        for policy in self.both:
            policy.reconsider(session)

    @rule(count=st.integers(1, 4))
    def cache(self, count: int) -> None:
        for block_id in [i for i in range(1, 13) if i not in self.used][:count]:
            self.used[block_id] = 1
            for policy in self.both:
                policy.on_cache(block(block_id))

    @precondition(lambda self: self.used)
    @rule(data=st.data())
    def hit(self, data: st.DataObject) -> None:
        for block_id in data.draw(st.lists(st.sampled_from(sorted(self.used)), unique=True)):
            for policy in self.both:
                policy.on_hit(block(block_id), was_free=self.used[block_id] == 0)
            self.used[block_id] += 1

    @precondition(lambda self: self.ids(free=False))
    @rule(data=st.data())
    def let_go(self, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(self.ids(free=False)), unique=True))
        for block_id in chosen:
            self.used[block_id] -= 1
        for policy in self.both:
            policy.on_free([block(i) for i in chosen if not self.used[i]])

    @precondition(lambda self: self.ids(free=True))
    @rule(data=st.data())
    def take_victims(self, data: st.DataObject) -> None:
        for _ in range(data.draw(st.integers(1, len(self.ids(free=True))))):
            first = next(iter(self.policy))
            victim = self.policy.pop_victim()
            assert victim == self.naive.pop_victim()
            assert victim.id == first
            del self.used[victim.id]
            for policy in self.both:
                policy.on_evict(victim)

    @rule()
    def reset(self) -> None:
        self.turn += 1
        if self.turn % 5 == 0:
            assert self.policy.on_reset() == self.naive.on_reset()
            self.used.clear()

    @invariant()
    def both_list_the_same(self) -> None:
        assert list(self.policy) == list(self.naive)
        assert sorted(self.policy) == self.ids(free=True)
        assert len(self.policy) == len(self.naive)


class Crowded(Alone):
    """Three owners are a crowd."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(session_groups, "MOST_OWNERS", 2)

    def teardown(self) -> None:
        self.patch.undo()


TestAlone, TestCrowded = Alone.TestCase, Crowded.TestCase
TestAlone.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestCrowded.settings = TestAlone.settings


@settings(deadline=None)
@given(seed=seeds, capacity_blocks=st.integers(1, 40))
def test_a_pool_evicts_as_the_rule_says(seed: int, capacity_blocks: int) -> None:
    ruled = Server(Naive(capacity_blocks, Scattered()))
    journal = Server(CacheWise(capacity_blocks, Scattered())).run(seed, steps=120)
    assert journal == ruled.run(seed, steps=120)


@settings(deadline=None)
@given(seed=seeds, capacity_blocks=st.integers(1, 40))
def test_is_lru_in_a_pool_if_nothing_is_known(seed: int, capacity_blocks: int) -> None:
    journal = Server(CacheWise(capacity_blocks, Equal())).run(seed, steps=120)
    assert journal == Server(Lru(capacity_blocks)).run(seed, steps=120)


class Failing:
    def rank(self, session: SessionId) -> ReuseRank:
        raise RuntimeError(session)


class Nonsense:
    def rank(self, session: SessionId) -> ReuseRank:
        return ReuseRank(Tier(len(session) % 5), math.nan)


class WrongShape:
    def rank(self, session: SessionId) -> ReuseRank:
        return None  # type: ignore[return-value]


@given(seed=seeds, bad=st.sampled_from([Equal, Failing, Nonsense, WrongShape]))
def test_is_lru_whatever_is_wrong_with_the_ranks(seed: int, bad: type[Failing]) -> None:
    policy, lru = CacheWise(20, bad()), Lru(20)
    assert drive(policy, seed) == drive(lru, seed)
    assert list(policy) == list(lru)


def test_ranks_that_cannot_be_had_are_counted_once_a_reading() -> None:
    policy = CacheWise(20, Failing())
    for number in range(3):
        policy.serve(SessionId(f"s{number}"))
        policy.on_free([block(number * 2 + 1), block(number * 2 + 2)])
    assert policy.pop_victim().id == BlockId(1)
    assert policy.pop_victim().id == BlockId(2)
    assert policy.rank_faults == 3
