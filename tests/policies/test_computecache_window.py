"""Every clause of the window's rule, and of the keep value that ranks it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import Literal, NoReturn

import pytest

from keepwarm.policies.base import BlockHash, BlockId, CachedBlock
from keepwarm.policies.computecache_window import ComputeCacheWindow
from keepwarm.policies.keep_value import BlockUses

FULL = 0  # no blank block


def block(block_id: int, depth_blocks: int = 1) -> CachedBlock:
    return CachedBlock(BlockId(block_id), BlockHash(block_id), depth_blocks)


def free_blocks(
    policy: ComputeCacheWindow, ids: Collection[int], *, hits: dict[int, int] | None = None
) -> None:
    """Cache and free ``ids`` in this order, each hit as often as ``hits`` says."""
    for each in ids:
        policy.on_cache(block(each))
        for _ in range((hits or {}).get(each, 0)):
            policy.on_hit(block(each), was_free=False)
    policy.on_free([block(each) for each in ids])


class TestKeepValue:
    def uses(self) -> BlockUses:
        uses = BlockUses()
        uses.cached(BlockId(1))
        return uses

    def tick(self, uses: BlockUses, times: int) -> None:
        for _ in range(times):
            uses.hit(BlockId(2))

    def test_a_hit_is_worth_64(self) -> None:
        uses = self.uses()
        values = []
        for _ in range(3):
            uses.hit(BlockId(1))
            values.append(uses.keep_value(block(1, 0)))
        assert values == [64, 128, 192]

    def test_hits_saturate_at_255(self) -> None:
        uses = self.uses()
        for _ in range(300):
            uses.hit(BlockId(1))
        assert uses.keep_value(block(1, 0)) == 255 * 64

    def test_never_hit_costs_4096(self) -> None:
        assert self.uses().keep_value(block(1, 0)) == -4096

    @pytest.mark.parametrize(("depth_blocks", "worth"), [(1, 1), (4096, 4096), (4097, 4096)])
    def test_depth_counts_in_blocks_up_to_4096(self, depth_blocks: int, worth: int) -> None:
        assert self.uses().keep_value(block(1, depth_blocks)) == worth - 4096

    @pytest.mark.parametrize(("ticks", "cost"), [(0, 0), (1, 1), (4096, 4096), (4097, 4096)])
    def test_age_counts_hits_of_any_block_since_its_own_up_to_4096(self, ticks: int, cost: int) -> None:
        uses = self.uses()
        uses.hit(BlockId(1))
        self.tick(uses, ticks)
        assert uses.keep_value(block(1, 0)) == 64 - cost

    def test_age_before_the_first_hit_counts_since_the_block_was_cached(self) -> None:
        uses = BlockUses()
        self.tick(uses, 5)
        uses.cached(BlockId(1))
        self.tick(uses, 3)
        assert uses.keep_value(block(1, 0)) == -3 - 4096

    def test_what_was_forgotten_starts_anew(self) -> None:
        uses = self.uses()
        uses.hit(BlockId(1))
        uses.forget(BlockId(1))
        assert not uses.was_hit(BlockId(1))
        uses.cached(BlockId(1))
        assert uses.keep_value(block(1, 0)) == -4096

    def test_hits_halve_per_half_life_without_one(self) -> None:
        uses = BlockUses(half_life_ticks=10)
        for _ in range(9):
            uses.hit(BlockId(1))
        self.tick(uses, 9)
        assert uses.keep_value(block(1, 0)) == 9 * 64 - 9
        self.tick(uses, 1)
        assert uses.keep_value(block(1, 0)) == 4 * 64 - 10
        uses.hit(BlockId(1))
        assert uses.keep_value(block(1, 0)) == 5 * 64
        self.tick(uses, 30)
        assert uses.keep_value(block(1, 0)) == -30 - 4096  # as if never hit
        assert uses.was_hit(BlockId(1))


def test_victims_come_in_rank_order() -> None:
    policy = ComputeCacheWindow(20)
    free_blocks(policy, [1, 2, 3, 4], hits={1: 2, 2: 1, 4: 1})
    policy.on_allocate(3, FULL)
    # 3 was never hit, 2 and 4 once; of these 2 is older by one tick
    assert list(policy) == [3, 2, 4, 1]


def test_only_as_many_as_will_be_taken_move() -> None:
    policy = ComputeCacheWindow(20)
    free_blocks(policy, [1, 2, 3, 4], hits={1: 1, 2: 1})
    policy.on_allocate(1, FULL)
    assert list(policy) == [3, 1, 2, 4]


def test_ties_keep_their_order_in_the_queue() -> None:
    policy = ComputeCacheWindow(20)
    free_blocks(policy, [7, 3, 5, 1])
    policy.on_allocate(4, FULL)
    assert list(policy) == [7, 3, 5, 1]


def test_looks_no_further_than_the_scan_limit() -> None:
    policy = ComputeCacheWindow(20, scan_limit=2)
    free_blocks(policy, [1, 2, 3], hits={1: 2, 2: 1})
    policy.on_allocate(1, FULL)
    assert list(policy) == [2, 1, 3]  # 3 was never hit, but is out of sight


def test_looks_at_64_blocks_unless_told() -> None:
    for in_front, first in ((63, 64), (64, 1)):
        policy = ComputeCacheWindow(100)
        hot = range(1, in_front + 1)
        free_blocks(policy, [*hot, in_front + 1], hits=dict.fromkeys(hot, 1))
        policy.on_allocate(1, FULL)
        assert next(iter(policy)) == first


def test_blank_blocks_take_places_in_the_window_and_go_first() -> None:
    policy = ComputeCacheWindow(20, scan_limit=4)
    free_blocks(policy, [1, 2, 3], hits={1: 2, 2: 1})
    policy.on_allocate(3, 2)  # two blank ones and one victim; the window has places for 1 and 2
    assert list(policy) == [2, 1, 3]


def test_more_blank_blocks_than_the_window_leave_nothing_to_rank() -> None:
    policy = ComputeCacheWindow(20, scan_limit=4)
    free_blocks(policy, [1, 2], hits={1: 1})
    policy.on_allocate(6, 5)
    assert list(policy) == [1, 2]


def test_nothing_moves_while_blank_blocks_suffice() -> None:
    policy = ComputeCacheWindow(20)
    free_blocks(policy, [1, 2], hits={1: 1})
    policy.on_allocate(3, 3)
    assert list(policy) == [1, 2]


def test_a_window_smaller_than_the_need_moves_whole() -> None:
    policy = ComputeCacheWindow(20, scan_limit=2)
    free_blocks(policy, [1, 2, 3, 4], hits={1: 1})
    policy.on_allocate(4, FULL)
    assert list(policy) == [2, 1, 3, 4]


def test_watched_blocks_are_left_out_but_looked_at() -> None:
    watched = {BlockId(2)}
    policy = ComputeCacheWindow(20, scan_limit=3, watched=watched)
    free_blocks(policy, [1, 2, 3, 4], hits={1: 1})
    policy.on_allocate(3, FULL)
    assert list(policy) == [3, 1, 2, 4]  # 4 is beyond the limit, and 2 goes after those that were ranked
    watched.clear()  # read at each allocation
    policy.on_allocate(3, FULL)
    assert list(policy) == [3, 2, 1, 4]


def test_hits_on_blocks_in_use_count_as_well() -> None:
    policy = ComputeCacheWindow(20)
    free_blocks(policy, [1, 2])
    policy.on_hit(block(1), was_free=True)
    policy.on_hit(block(1), was_free=False)
    policy.on_free([block(1)])
    policy.on_hit(block(2), was_free=True)
    policy.on_free([block(2)])
    policy.on_allocate(1, FULL)
    assert list(policy) == [2, 1]


def test_an_eviction_clears_what_is_known_of_the_block() -> None:
    policy = ComputeCacheWindow(20)
    free_blocks(policy, [1], hits={1: 9})
    policy.on_evict(policy.pop_victim())
    free_blocks(policy, [2], hits={2: 1})
    free_blocks(policy, [1])
    policy.on_allocate(1, FULL)
    assert list(policy) == [1, 2]


def test_a_victim_keeps_its_hits_until_its_content_is_lost() -> None:
    policy = ComputeCacheWindow(20)
    free_blocks(policy, [1], hits={1: 9})
    victim = policy.pop_victim()
    free_blocks(policy, [2], hits={2: 1})
    policy.on_free([victim])
    policy.on_allocate(1, FULL)
    assert list(policy) == [2, 1]


def test_a_reset_clears_all() -> None:
    policy = ComputeCacheWindow(20)
    free_blocks(policy, [1, 2], hits={1: 9})
    policy.on_reset()
    free_blocks(policy, [1, 2], hits={2: 1})
    policy.on_allocate(1, FULL)
    assert list(policy) == [1, 2]


class _Unreadable(OrderedDict[BlockId, CachedBlock]):
    """A queue that must not be read."""

    def values(self) -> NoReturn:
        raise AssertionError("the queue was read")

    __iter__ = items = keys = values  # type: ignore[assignment]


@pytest.mark.parametrize("mode", ["lru", "active"])
def test_in_mode_lru_the_queue_is_not_even_read(mode: Literal["lru", "active"]) -> None:
    policy = ComputeCacheWindow(20, mode=mode)
    free_blocks(policy, [1, 2], hits={1: 1})
    policy._queue = _Unreadable(policy._queue)
    if mode == "active":
        with pytest.raises(AssertionError, match="was read"):
            policy.on_allocate(1, FULL)
    else:
        policy.on_allocate(1, FULL)
        assert policy.pop_victim().id == 1
