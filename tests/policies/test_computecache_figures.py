"""The published figures: a hot prefix, and how much of it is left after one-use prompts.

A prefix is cached and then hit once; prompts of 810 tokens follow that nobody sends twice. Blocks
of 16 tokens; of a pool's blocks one is the null block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from math import inf

import pytest

from keepwarm.cache.pool import BlockPool
from keepwarm.policies.base import BlockHash, VictimOrder
from keepwarm.policies.computecache import ComputeCache
from keepwarm.policies.computecache_window import ComputeCacheWindow
from keepwarm.policies.lru import Lru

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
@pytest.mark.parametrize("prompts", [4, 320])
def test_a_boundary_keeps_it_all(capacity_blocks: int, hot_tokens: int, prompts: int) -> None:
    policy = partial(ComputeCache, stale_turnovers=inf)
    assert _Flood(policy, capacity_blocks, hot_tokens).kept_after(prompts) == hot_tokens


@pytest.mark.parametrize(
    ("capacity_blocks", "hot_tokens", "prompts", "kept_tokens"),
    [(SMALL, 800, 40, 800), (SMALL, 800, 64, 0), (LARGE, 3200, 320, 3200)],
)
def test_by_default_what_nobody_asks_for_is_kept_for_16_turnovers(
    capacity_blocks: int, hot_tokens: int, prompts: int, kept_tokens: int
) -> None:
    """40 prompts turn 127 blocks over 16 times, 320 do so with 1,023."""
    assert _Flood(ComputeCache, capacity_blocks, hot_tokens).kept_after(prompts) == kept_tokens
