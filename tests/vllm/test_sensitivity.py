"""The comparison is worth something: every deliberate mistake in the model is found by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from keepwarm.cache.pool import BlockPool
from keepwarm.policies.base import BlockHash, BlockId
from keepwarm.policies.lru import Lru
from keepwarm.scheduling.fcfs import Fcfs
from keepwarm.serving.base import RequestState, ServerConfig
from keepwarm.serving.engine import Engine
from tests.vllm.lockstep import Difference
from tests.vllm.streams import play

STREAMS = 150

free, cache_full_blocks, append = BlockPool.free, BlockPool.cache_full_blocks, Lru.on_free


def free_head_first(pool: BlockPool, blocks: Sequence[BlockId]) -> None:
    free(pool, blocks[::-1])


def find_the_youngest(pool: BlockPool, hashes: Sequence[BlockHash]) -> list[BlockId]:
    found: list[BlockId] = []
    for block_hash in hashes:
        if block_hash not in pool._by_hash:
            break
        found.append(pool._by_hash[block_hash][-1])
    return found


def merge_duplicates(pool: BlockPool, blocks: Any, hashes: Any, start: int) -> None:
    for index in range(start, len(hashes)):
        if hashes[index] not in pool._by_hash:
            cache_full_blocks(pool, blocks[: index + 1], hashes[: index + 1], index)


def queue_at_the_end(queue: Fcfs, state: RequestState) -> None:
    queue.add(state)


def forget_the_null_block(config: ServerConfig) -> int:
    return int(config.watermark * config.capacity_blocks)


def count_one_more(engine: Engine) -> int:
    """Long prompts are capped though nobody else is there."""
    return len(engine._states) + bool(engine._states)


MISTAKES: list[tuple[object, str, Callable[..., Any] | property]] = [
    (BlockPool, "free", free_head_first),
    (BlockPool, "lookup", find_the_youngest),
    (BlockPool, "cache_full_blocks", merge_duplicates),
    (Fcfs, "put_back", queue_at_the_end),
    (ServerConfig, "watermark_blocks", property(forget_the_null_block)),
    (Engine, "__len__", count_one_more),
    (Lru, "on_free", lambda lru, blocks: append(lru, blocks[::-1])),
]


@pytest.mark.parametrize(("owner", "name", "mistake"), MISTAKES, ids=[name for _, name, _ in MISTAKES])
def test_a_mistake_is_found(monkeypatch: Any, owner: Any, name: str, mistake: Any) -> None:
    monkeypatch.setattr(owner, name, mistake)
    with pytest.raises(Difference):
        [play(seed, 60) for seed in range(STREAMS)]
