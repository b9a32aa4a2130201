"""The published figures: a hot prefix, and how much of it is left after one-use prompts.

A prefix is cached and then hit once; prompts of 810 tokens follow that nobody sends twice. Blocks
of 16 tokens; of a pool's blocks one is the null block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from math import inf
from pathlib import Path

import pytest

from keepwarm.cache.load import load_trace
from keepwarm.cache.options import TraceOptions
from keepwarm.cache.pool import BlockPool
from keepwarm.cache.replay import replay
from keepwarm.policies.base import BlockHash, VictimOrder
from keepwarm.policies.computecache import ComputeCache
from keepwarm.policies.computecache_window import ComputeCacheWindow
from keepwarm.policies.keep_value import BlockUses
from keepwarm.policies.lru import Lru
from tests.cache.kernel_equality import requests_of

BLOCK_SIZE = 16
SMALL, LARGE = 127, 1023  # usable blocks
ONE_USE_TOKENS = 810
ONE_USE_BLOCKS = 51  # 50 full ones, and one of 10 tokens
TAIL_TOKENS = 10  # behind the hot prefix, so that all of it can hit


class _Flood:
    def __init__(self, policy: Callable[[int], VictimOrder], capacity_blocks: int, hot_tokens: int) -> None:
        self.pool = BlockPool(capacity_blocks, policy(capacity_blocks))
        self.fresh = count(1_000_000)
        self.hot = [BlockHash(depth) for depth in range(hot_tokens // BLOCK_SIZE)]
        assert self.send(self.hot, hot_tokens + TAIL_TOKENS) == 0
        assert self.send(self.hot, hot_tokens + TAIL_TOKENS) == hot_tokens

    def send(self, hashes: list[BlockHash], prompt_tokens: int) -> int:
        """Serve one prompt whose full blocks are ``hashes``; returns the tokens hit."""
        hits = self.pool.lookup(hashes[: (prompt_tokens - 1) // BLOCK_SIZE])
        table, _ = self.pool.admit(hashes, hits, -(-prompt_tokens // BLOCK_SIZE) - len(hits))
        self.pool.cache_full_blocks(table, hashes, start=len(hits))
        self.pool.free(table)
        return len(hits) * BLOCK_SIZE

    def kept_after(self, prompts: int) -> int:
        """Tokens of the hot prefix that would hit after that many one-use prompts."""
        for _ in range(prompts):
            self.send([BlockHash(next(self.fresh)) for _ in range(ONE_USE_BLOCKS - 1)], ONE_USE_TOKENS)
        return len(self.pool.lookup(self.hot)) * BLOCK_SIZE


@pytest.mark.parametrize(("prompts", "kept_tokens"), [(1, 800), (2, 416), (4, 0)])
def test_stock_lru(prompts: int, kept_tokens: int) -> None:
    assert _Flood(Lru, SMALL, 800).kept_after(prompts) == kept_tokens


@pytest.mark.parametrize("scan_limit", [16, 32, 64])
@pytest.mark.parametrize("prompts", [4, 320])
def test_a_window_keeps_nothing(scan_limit: int, prompts: int) -> None:
    policy = partial(ComputeCacheWindow, scan_limit=scan_limit)
    assert _Flood(policy, SMALL, 800).kept_after(prompts) == 0


@pytest.mark.parametrize(
    ("capacity_blocks", "hot_tokens", "kept_tokens"), [(SMALL, 800, 800), (LARGE, 3200, 0)]
)
def test_a_window_that_grows_with_the_need_keeps_what_it_can_see(
    capacity_blocks: int, hot_tokens: int, kept_tokens: int
) -> None:
    policy = partial(ComputeCacheWindow, scan_limit=ONE_USE_BLOCKS + 64)
    assert _Flood(policy, capacity_blocks, hot_tokens).kept_after(320) == kept_tokens


@pytest.mark.parametrize(("capacity_blocks", "hot_tokens"), [(SMALL, 800), (LARGE, 3200)])
@pytest.mark.parametrize("prompts", [4, 40, 320])
def test_a_boundary_keeps_it_all(capacity_blocks: int, hot_tokens: int, prompts: int) -> None:
    """With the defaults: 320 prompts take 16,320 blocks, just under ``least_stale_blocks``."""
    assert _Flood(ComputeCache, capacity_blocks, hot_tokens).kept_after(prompts) == hot_tokens


@pytest.mark.parametrize(("capacity_blocks", "hot_tokens"), [(SMALL, 800), (LARGE, 3200)])
def test_nothing_once_hot_stays_for_ever(capacity_blocks: int, hot_tokens: int) -> None:
    """After 16,384 blocks all of it is stale, and gone with the next turnover."""
    prompts = 16_384 // ONE_USE_BLOCKS + capacity_blocks // ONE_USE_BLOCKS + 2
    assert _Flood(ComputeCache, capacity_blocks, hot_tokens).kept_after(prompts) == 0
    never_stale = partial(ComputeCache, stale_turnovers=inf)
    assert _Flood(never_stale, capacity_blocks, hot_tokens).kept_after(prompts) == hot_tokens


def test_in_a_small_pool_16_turnovers_are_few_prompts() -> None:
    """Why there is a floor."""
    policy = partial(ComputeCache, least_stale_blocks=0)
    assert _Flood(policy, SMALL, 800).kept_after(40) == 800
    assert _Flood(policy, SMALL, 800).kept_after(64) == 0


def test_many_keep_values_cost_a_prompt_its_head(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why ``scan_limit`` is small: with 64 the depth of a block decides, and keeps it behind a lost head."""
    path = shared / "cases" / "healthy" / "interleaved-call-sites.jsonl"
    trace = load_trace(str(path), TraceOptions()).dense

    def hit_percent(scan_limit: int) -> float:
        policy = partial(ComputeCache, scan_limit=scan_limit)
        rows = replay(requests_of(trace), block_size=trace.block_size, capacity_blocks=164, policy=policy)
        return 100 * sum(row.hit_tokens for row in rows) / sum(row.prompt_tokens for row in rows)

    in_lru_order, of_few, of_many = map(hit_percent, (1, 4, 64))
    assert of_many < in_lru_order - 9
    assert of_few > in_lru_order - 1

    keep_value = BlockUses.keep_value
    monkeypatch.setattr(
        BlockUses, "keep_value", lambda uses, block: keep_value(uses, block) - 2 * block.depth_blocks
    )
    assert hit_percent(64) >= in_lru_order  # depth counts against a block now
