"""The published figures: a hot prefix, and how much of it is left after one-use prompts.

A prefix is cached and then hit once; prompts of 810 tokens follow that nobody sends twice. Blocks
of 16 tokens; of a pool's blocks one is the null block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from math import inf
from pathlib import Path
from typing import NamedTuple

import pytest

from keepwarm.cache.load import load_trace
from keepwarm.cache.options import TraceOptions
from keepwarm.cache.pool import BlockPool
from keepwarm.cache.replay import replay
from keepwarm.policies.base import BlockHash, CachedBlock, VictimOrder
from keepwarm.policies.computecache import SCAN_LIMIT, ComputeCache
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


PROMPTS = (1, 2, 4, 40, 320)  # 320 take 16,320 blocks, just under ``least_stale_blocks``
PAGE = Path(__file__).resolve().parents[2] / "docs" / "design" / "computecache.md"


def window(scan_limit: int) -> Callable[[int], VictimOrder]:
    return partial(ComputeCacheWindow, scan_limit=scan_limit)


class Row(NamedTuple):
    """A row of the page: what is left after each of ``PROMPTS``."""

    policy: Callable[[int], VictimOrder]
    capacity_blocks: int
    hot_tokens: int
    kept_tokens: tuple[int, ...]
    names: str  # the first two cells


ROWS = (
    Row(Lru, SMALL, 800, (800, 416, 0, 0, 0), "stock LRU | 128 blocks"),
    Row(window(16), SMALL, 800, (800, 416, 0, 0, 0), "window of 16 or 32 | 128"),
    Row(window(32), SMALL, 800, (800, 416, 0, 0, 0), "window of 16 or 32 | 128"),
    Row(window(64), SMALL, 800, (800, 208, 0, 0, 0), "window of 64 | 128"),
    Row(window(ONE_USE_BLOCKS + 64), SMALL, 800, (800,) * 5, "window of the blocks asked + 64 | 128"),
    Row(
        window(ONE_USE_BLOCKS + 64),
        LARGE,
        3200,
        (3200, 3200, 3200, 0, 0),
        "the same, hot prefix of 3,200 tokens | 1,024",
    ),
    Row(ComputeCache, SMALL, 800, (800,) * 5, "**boundary**, defaults | 128"),
    Row(ComputeCache, LARGE, 3200, (3200,) * 5, "**boundary**, defaults, 3,200 tokens | 1,024"),
    Row(
        partial(ComputeCache, least_stale_blocks=0),
        SMALL,
        800,
        (800, 800, 800, 800, 0),
        "boundary, stale by turnovers alone | 128",
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=[row.names for row in ROWS])
def test_the_table_of_the_page(row: Row) -> None:
    kept = tuple(
        _Flood(row.policy, row.capacity_blocks, row.hot_tokens).kept_after(prompts) for prompts in PROMPTS
    )
    assert kept == row.kept_tokens
    assert f"| {row.names} | {' | '.join(f'{tokens:,}' for tokens in kept)} |" in PAGE.read_text()


@pytest.mark.parametrize(("capacity_blocks", "hot_tokens"), [(SMALL, 800), (LARGE, 3200)])
def test_nothing_once_hot_stays_for_ever(capacity_blocks: int, hot_tokens: int) -> None:
    """After 16,384 blocks all of it is stale: demoted by a few more prompts, gone with the next turnover."""
    demoting = hot_tokens // BLOCK_SIZE // (ONE_USE_BLOCKS + SCAN_LIMIT)
    prompts = 16_384 // ONE_USE_BLOCKS + demoting + capacity_blocks // ONE_USE_BLOCKS + 2
    assert _Flood(ComputeCache, capacity_blocks, hot_tokens).kept_after(prompts) == 0
    never_stale = partial(ComputeCache, stale_turnovers=inf)
    assert _Flood(never_stale, capacity_blocks, hot_tokens).kept_after(prompts) == hot_tokens


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
    assert of_few > in_lru_order - 1.5

    keep_values = BlockUses.keep_values

    def less_for_depth(uses: BlockUses, blocks: Sequence[CachedBlock]) -> list[int]:
        values = keep_values(uses, blocks)
        return [value - 2 * block.depth_blocks for value, block in zip(values, blocks, strict=True)]

    monkeypatch.setattr(BlockUses, "keep_values", less_for_depth)
    assert hit_percent(64) > in_lru_order - 1  # depth counts against a block now
