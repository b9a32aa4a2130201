"""Every clause of the boundary's rule, and that its decisions are moves in one stock list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.policies.base import BlockId, CachedBlock
from keepwarm.policies.computecache import ComputeCache
from keepwarm.policies.keep_value import BlockUses
from tests.policies.streams import Server, block

FULL = 0  # no blank block


def unbounded(capacity_blocks: int = 20, *, scan_limit: int = 64) -> ComputeCache:
    """A policy that demotes nothing by itself."""
    return ComputeCache(capacity_blocks, protected_share=1.0, stale_turnovers=inf, scan_limit=scan_limit)


def cache(policy: ComputeCache, ids: Iterable[int], *, hits: int = 0) -> list[CachedBlock]:
    """Blocks in use, each hit ``hits`` times."""
    blocks = [block(each) for each in ids]
    for each in blocks:
        policy.on_cache(each)
        for _ in range(hits):
            policy.on_hit(each, was_free=False)
    return blocks


def parts(policy: ComputeCache) -> tuple[list[int], list[int]]:
    """Probation and protected ids."""
    listed = list(policy)
    first = policy.first_protected
    at = len(listed) if first is None else listed.index(first.id)
    return [*listed[:at]], [*listed[at:]]


def test_never_hit_goes_before_the_boundary_and_hit_to_the_tail() -> None:
    policy = unbounded()
    policy.on_free(cache(policy, [1, 2], hits=1))
    policy.on_free(cache(policy, [3, 4]))
    policy.on_free(cache(policy, [5], hits=1))
    policy.on_free(cache(policy, [6]))
    assert parts(policy) == ([3, 4, 6], [1, 2, 5])


def test_one_request_may_free_both_kinds() -> None:
    policy = unbounded()
    policy.on_free([*cache(policy, [3]), *cache(policy, [1], hits=1), *cache(policy, [2])])
    assert parts(policy) == ([3, 2], [1])


def test_a_block_hit_on_probation_comes_back_protected() -> None:
    policy = unbounded()
    policy.on_free(cache(policy, [1, 2]))
    policy.on_hit(block(1), was_free=True)
    assert parts(policy) == ([2], [])
    policy.on_free([block(1)])
    assert parts(policy) == ([2], [1])


def test_a_protected_block_hit_again_comes_back_at_the_tail() -> None:
    policy = unbounded()
    policy.on_free(cache(policy, [1, 2], hits=1))
    policy.on_hit(block(1), was_free=True)
    policy.on_free([block(1)])
    assert parts(policy) == ([], [2, 1])


def test_victims_come_from_probation_then_from_protected() -> None:
    policy = unbounded()
    policy.on_free(cache(policy, [1, 2], hits=1))
    policy.on_free(cache(policy, [3, 4]))
    assert [policy.pop_victim().id for _ in range(4)] == [3, 4, 1, 2]


class TestStale:
    """A capacity of 20 and 1.5 turnovers: stale after 30 blocks allocated without a hit."""

    def policy(self, *, least_stale_blocks: int = 0) -> ComputeCache:
        return ComputeCache(
            20, protected_share=1.0, stale_turnovers=1.5, least_stale_blocks=least_stale_blocks
        )

    @pytest.mark.parametrize(("allocated", "protected"), [(29, [1, 2]), (30, [])])
    def test_the_boundary_passes_blocks_not_hit_for_long(self, allocated: int, protected: list[int]) -> None:
        policy = self.policy()
        policy.on_free(cache(policy, [1, 2], hits=1))
        policy.on_free(cache(policy, [3]))
        for _ in range(allocated):
            policy.on_allocate(1, 1)
        assert parts(policy) == (([3], [1, 2]) if protected else ([3, 1, 2], []))

    @pytest.mark.parametrize(("least", "stale_after"), [(0, 30), (29, 30), (30, 30), (31, 31), (90, 90)])
    def test_turnovers_or_the_floor_whichever_is_more(self, least: int, stale_after: int) -> None:
        policy = self.policy(least_stale_blocks=least)
        policy.on_free(cache(policy, [1], hits=1))
        policy.on_allocate(stale_after - 1, FULL)
        assert parts(policy) == ([], [1])
        policy.on_allocate(1, FULL)
        assert parts(policy) == ([1], [])

    @pytest.mark.parametrize(
        ("capacity_blocks", "stale_after"), [(1, 16_384), (1_024, 16_384), (2_048, 32_768)]
    )
    def test_by_default_16_turnovers_or_16_384_blocks(self, capacity_blocks: int, stale_after: int) -> None:
        policy = ComputeCache(capacity_blocks, protected_share=1.0)
        policy.on_free(cache(policy, [1], hits=255))
        policy.on_allocate(stale_after - 1, FULL)
        assert parts(policy) == ([], [1])
        policy.on_allocate(1, FULL)
        assert parts(policy) == ([1], [])

    def test_it_stops_at_the_first_block_that_was_hit_since(self) -> None:
        policy = self.policy()
        policy.on_free(cache(policy, [1], hits=1))
        held = cache(policy, [2], hits=1)
        policy.on_allocate(29, 29)
        policy.on_hit(block(3), was_free=False)
        policy.on_free([block(3)])
        policy.on_free(held)
        policy.on_allocate(1, 1)
        assert parts(policy) == ([1], [3, 2])  # 2 is as stale as 1 was, but not at the head

    def test_blocks_count_whoever_gets_them_and_whatever_they_held(self) -> None:
        policy = self.policy()
        policy.on_free(cache(policy, [1], hits=1))
        policy.on_allocate(10, 10)
        policy.on_allocate(19, FULL)
        assert parts(policy) == ([], [1])
        policy.on_allocate(1, FULL)
        assert parts(policy) == ([1], [])

    def test_a_hit_starts_the_count_anew(self) -> None:
        policy = self.policy()
        policy.on_free(cache(policy, [1], hits=1))
        policy.on_allocate(29, 29)
        policy.on_hit(block(1), was_free=True)
        policy.on_free([block(1)])
        policy.on_allocate(29, 29)
        assert parts(policy) == ([], [1])

    def test_a_demoted_block_that_is_hit_is_protected_again(self) -> None:
        policy = self.policy()
        policy.on_free(cache(policy, [1], hits=1))
        policy.on_allocate(30, 30)
        policy.on_hit(block(1), was_free=True)
        policy.on_free([block(1)])
        assert parts(policy) == ([], [1])

    def test_infinite_turnovers_are_never_over(self) -> None:
        policy = unbounded()
        policy.on_free(cache(policy, [1], hits=1))
        policy.on_allocate(10**9, 10**9)
        assert parts(policy) == ([], [1])


class TestShare:
    def policy(self, *, share: float = 0.25, scan_limit: int = 64, hits_decay: bool = False) -> ComputeCache:
        return ComputeCache(
            20, protected_share=share, stale_turnovers=inf, scan_limit=scan_limit, hits_decay=hits_decay
        )

    def test_no_more_than_the_share_is_protected_when_victims_are_named(self) -> None:
        policy = self.policy()
        policy.on_free(cache(policy, range(1, 6), hits=1))
        policy.on_allocate(1, 1)
        assert parts(policy) == ([], [1, 2, 3, 4, 5])  # five are a quarter of 20
        policy.on_free(cache(policy, [6], hits=1))
        policy.on_allocate(1, 1)
        assert parts(policy) == ([1], [2, 3, 4, 5, 6])

    def test_the_lowest_keep_value_goes_first(self) -> None:
        policy = self.policy(share=0.1)
        blocks = [*cache(policy, [1], hits=3), *cache(policy, [2], hits=1), *cache(policy, [3, 4], hits=2)]
        policy.on_free(blocks)
        policy.on_free(cache(policy, [9]))
        policy.on_allocate(1, FULL)
        assert parts(policy) == ([9, 2, 3], [1, 4])  # of 3 and 4, hit as often, 3 is older

    def test_ties_go_in_queue_order(self) -> None:
        policy = self.policy(share=0.0)
        for at, each in enumerate([7, 5, 6]):  # what one is older, it is deeper
            policy.on_cache(block(each))
            policy.on_hit(block(each), was_free=False)
            policy.on_free([block(each)._replace(depth_blocks=10 - at)])
        policy.on_allocate(1, FULL)
        assert parts(policy) == ([7, 5, 6], [])

    @pytest.mark.parametrize(("scan_limit", "gone"), [(1, 8), (4, 5), (64, 1)])
    def test_of_a_prompt_the_shallowest_in_sight_goes_first(self, scan_limit: int, gone: int) -> None:
        """Why ``scan_limit`` is small: without its first block nothing of a prompt can hit."""
        policy = self.policy(share=0.35, scan_limit=scan_limit)
        prompt = [block(depth)._replace(depth_blocks=depth) for depth in range(1, 9)]
        for each in prompt:
            policy.on_cache(each)
        for each in prompt:
            policy.on_hit(each, was_free=False)
        policy.on_free(prompt[::-1])  # as vLLM does
        policy.on_allocate(1, FULL)
        assert parts(policy)[0] == [gone]

    def test_only_the_first_of_the_protected_are_compared(self) -> None:
        policy = self.policy(share=0.1, scan_limit=2)
        blocks = [*cache(policy, [1, 2], hits=3), *cache(policy, [3], hits=1)]
        policy.on_free(blocks)
        policy.on_allocate(1, FULL)
        assert parts(policy) == ([1], [2, 3])

    def test_the_next_block_comes_into_sight_when_one_goes(self) -> None:
        policy = self.policy(share=0.1, scan_limit=2)
        blocks = [*cache(policy, [1, 2], hits=3), *cache(policy, [3], hits=1), *cache(policy, [4], hits=4)]
        policy.on_free(blocks)
        policy.on_allocate(1, FULL)
        assert parts(policy) == ([1, 3], [2, 4])

    def test_stale_blocks_go_before_the_share_is_looked_at(self) -> None:
        policy = ComputeCache(20, protected_share=0.05, stale_turnovers=1.0, least_stale_blocks=0)
        policy.on_free(cache(policy, [1], hits=5))
        policy.on_allocate(19, 19)
        policy.on_free(cache(policy, [2], hits=1))
        policy.on_allocate(1, FULL)
        assert parts(policy) == ([1], [2])  # by keep value it would have been 2

    @pytest.mark.parametrize("hits_decay", [True, False])
    def test_hits_decay_only_if_asked(self, hits_decay: bool) -> None:
        policy = self.policy(share=0.05, hits_decay=hits_decay)
        policy.on_free(cache(policy, [1], hits=3))
        cache(policy, [9], hits=20)  # a capacity of hits elsewhere
        policy.on_free(cache(policy, [2], hits=2))
        policy.on_allocate(1, FULL)
        assert parts(policy) == (([1], [2]) if hits_decay else ([2], [1]))

    def test_whole_shares_of_the_capacity_are_protected(self) -> None:
        policy = self.policy(share=1.0)
        policy.on_free(cache(policy, range(1, 21), hits=1))
        policy.on_allocate(1, FULL)
        assert parts(policy)[0] == []


def test_an_eviction_clears_what_is_known_of_the_block() -> None:
    policy = unbounded()
    policy.on_free(cache(policy, [1], hits=1))
    policy.on_evict(policy.pop_victim())
    policy.on_free(cache(policy, [1]))
    assert parts(policy) == ([1], [])


def test_a_reset_clears_hits_and_counts() -> None:
    policy = ComputeCache(20, protected_share=1.0, stale_turnovers=1.0, least_stale_blocks=0)
    policy.on_free(cache(policy, [1, 2], hits=1))
    policy.on_allocate(19, 19)
    policy.on_reset()
    policy.on_free([*cache(policy, [1]), *cache(policy, [2], hits=1)])
    policy.on_allocate(19, 19)
    assert parts(policy) == ([1], [2])


class _Counted(ComputeCache):
    """Counts demotions."""

    def __init__(self, capacity_blocks: int, **parameters: Any) -> None:
        super().__init__(capacity_blocks, **parameters)
        self.demoted = 0

    def demote(self, block: CachedBlock) -> None:
        self.demoted += 1
        super().demote(block)

    def allocate(self, new_blocks: int) -> int:
        """How many blocks one allocation demotes."""
        before = self.demoted
        self.on_allocate(new_blocks, FULL)
        return self.demoted - before


class TestWorkPerAllocation:
    """What is to be demoted, however much it is, is demoted a few at a time."""

    @pytest.mark.parametrize("new_blocks", [1, 7, 300])
    def test_no_more_stale_blocks_than_asked_for_and_the_extra(self, new_blocks: int) -> None:
        policy = _Counted(
            5_000, protected_share=1.0, stale_turnovers=1.0, least_stale_blocks=0, extra_demotions=3
        )
        policy.on_free(cache(policy, range(1, 2_001), hits=1))
        assert policy.allocate(4_999) == 0
        for done in range(4):
            assert policy.allocate(new_blocks) == new_blocks + 3
            assert parts(policy)[0] == [*range(1, (done + 1) * (new_blocks + 3) + 1)]

    @pytest.mark.parametrize("new_blocks", [1, 7, 300])
    def test_no_more_for_the_share_either(self, new_blocks: int) -> None:
        policy = _Counted(4_000, protected_share=0.25, stale_turnovers=inf, extra_demotions=3)
        policy.on_free(cache(policy, range(1, 2_001), hits=1))
        at_once = new_blocks + 3
        full, rest = divmod(1_000, at_once)
        assert [policy.allocate(new_blocks) for _ in range(full)] == [at_once] * full
        assert [policy.allocate(new_blocks) for _ in range(2)] == [rest, 0]

    def test_stale_blocks_and_the_share_have_one_limit(self) -> None:
        policy = _Counted(
            20, protected_share=0.1, stale_turnovers=1.0, least_stale_blocks=0, extra_demotions=2
        )
        policy.on_free(cache(policy, [1, 2], hits=9))
        policy.on_allocate(19, 19)
        policy.on_free(cache(policy, range(3, 11), hits=1))
        assert policy.allocate(1) == 3
        assert parts(policy) == ([1, 2, 3], [*range(4, 11)])
        assert policy.allocate(1) == 3

    def test_keep_values_are_read_for_the_blocks_in_sight_only(self, monkeypatch: pytest.MonkeyPatch) -> None:
        policy = ComputeCache(
            4_000, protected_share=0.0, stale_turnovers=inf, scan_limit=5, extra_demotions=3
        )
        policy.on_free(cache(policy, range(1, 2_001), hits=1))
        read: list[CachedBlock] = []
        keep_values = BlockUses.keep_values
        monkeypatch.setattr(
            BlockUses, "keep_values", lambda uses, blocks: (read.extend(blocks), keep_values(uses, blocks))[1]
        )
        policy.on_allocate(7, FULL)
        assert read == [block(each) for each in range(1, 7 + 3 + 5)]

    def test_what_waits_may_still_be_hit(self) -> None:
        policy = ComputeCache(20, protected_share=0.0, stale_turnovers=inf, extra_demotions=1)
        policy.on_free(cache(policy, [1, 2, 3], hits=1))
        policy.on_allocate(1, FULL)
        policy.on_hit(block(3), was_free=True)
        assert parts(policy) == ([1, 2], [])
        policy.on_free([block(3)])
        assert parts(policy) == ([1, 2], [3])

    def test_blocks_that_take_no_victim_demote_as_well(self) -> None:
        """Else a pool that fills slowly would let all of it wait for the first victim."""
        policy = ComputeCache(20, protected_share=0.0, stale_turnovers=inf, extra_demotions=1)
        policy.on_free(cache(policy, [1, 2, 3], hits=1))
        policy.on_allocate(1, 1)
        assert parts(policy) == ([1, 2], [3])

    @given(
        seed=st.integers(0, 2**32 - 1),
        protected_share=st.sampled_from([0.0, 0.2, 0.5]),
        stale_turnovers=st.sampled_from([0.5, 2.0, inf]),
        extra_demotions=st.integers(0, 4),
    )
    def test_no_victim_is_protected_while_one_to_be_demoted_waits(
        self, seed: int, protected_share: float, stale_turnovers: float, extra_demotions: int
    ) -> None:
        class Watched(_Counted):
            def on_allocate(self, new_blocks: int, blank_blocks: int) -> None:
                before = self.demoted
                super().on_allocate(new_blocks, blank_blocks)
                assert self.demoted - before <= new_blocks + extra_demotions
                _, protected = parts(self)
                too_many = len(protected) > protected_share * self.capacity_blocks
                self.waits = too_many or (
                    bool(protected) and self._unused_blocks(protected[0]) >= self._stale_blocks
                )

            def _unused_blocks(self, block_id: BlockId) -> int:
                return self.allocated_blocks - self._uses.last_hit(block_id)

            def pop_victim(self) -> CachedBlock:
                probation, _ = parts(self)
                assert probation or not self.waits
                return super().pop_victim()

        Server(
            Watched(
                24,
                protected_share=protected_share,
                stale_turnovers=stale_turnovers,
                least_stale_blocks=0,
                extra_demotions=extra_demotions,
            )
        ).run(seed)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("protected_share", -0.01),
        ("protected_share", 1.01),
        ("protected_share", nan),
        ("stale_turnovers", -1.0),
        ("stale_turnovers", nan),
        ("least_stale_blocks", -1),
        ("least_stale_blocks", nan),
        ("scan_limit", 0),
        ("scan_limit", -1),
        ("extra_demotions", -1),
    ],
)
def test_a_parameter_out_of_its_range_is_refused(parameter: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{parameter} {value}: "):
        _Counted(20, **{parameter: value})


class _StockList(ComputeCache):
    """Repeats every decision in one list, as beside vLLM's own queue: knows the public moves only."""

    def __init__(self, capacity_blocks: int) -> None:
        super().__init__(
            capacity_blocks, protected_share=0.3, stale_turnovers=1.5, least_stale_blocks=0, scan_limit=3
        )
        self.stock: list[BlockId] = []

    def _insert_before_boundary(self, block_id: BlockId) -> None:
        first = self.first_protected
        self.stock.insert(len(self.stock) if first is None else self.stock.index(first.id), block_id)

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        for each in blocks:
            if self.protects(each):
                self.stock.append(each.id)
            else:
                self._insert_before_boundary(each.id)
            super().on_free([each])

    def demote(self, block: CachedBlock) -> None:
        self.stock.remove(block.id)
        super().demote(block)
        self._insert_before_boundary(block.id)

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        super().on_hit(block, was_free=was_free)
        if was_free:
            self.stock.remove(block.id)

    def pop_victim(self) -> CachedBlock:
        victim = super().pop_victim()
        assert victim.id == self.stock.pop(0)
        return victim

    def on_reset(self) -> list[BlockId]:
        self.stock.clear()
        return super().on_reset()

    def __iter__(self) -> Iterator[BlockId]:
        listed = list(super().__iter__())
        assert self.stock == listed
        return iter(listed)


@given(seed=st.integers(0, 2**32 - 1))
def test_its_decisions_are_moves_in_one_stock_list(seed: int) -> None:
    Server(_StockList(12)).run(seed)  # lists the blocks after each step
