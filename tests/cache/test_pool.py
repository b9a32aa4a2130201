"""The vLLM semantics of the design notes that concern a pool, each by its number."""

from __future__ import annotations

import numpy as np
import pytest

from keepwarm._errors import InputError, IntegrityError
from keepwarm.cache.pool import NULL_BLOCK, BlockPool
from keepwarm.cache.replay import CacheRequest, replay
from keepwarm.policies.base import BlockHash, BlockId
from keepwarm.policies.lru import Lru
from keepwarm.trace.hashes import block_hashes


def hashes(*values: int) -> list[BlockHash]:
    return [BlockHash(value) for value in values]


def pool_of(capacity_blocks: int) -> BlockPool:
    return BlockPool(capacity_blocks, Lru(capacity_blocks))


def run(pool: BlockPool, prefix: list[BlockHash], blank_blocks: int = 0) -> list[BlockId]:
    """Admit a request: hit what is there, take the rest, cache its full blocks; not freed."""
    hits = pool.lookup(prefix)
    blocks = pool.admit(prefix, hits, len(prefix) + blank_blocks - len(hits)).blocks
    pool.cache_full_blocks(blocks, prefix, start=len(hits))
    return blocks


def next_blocks(pool: BlockPool) -> list[BlockId]:
    """In which order free blocks would be handed out; empties the pool."""
    return pool.allocate(pool.free_blocks).blocks


def prompt(*tokens: int) -> CacheRequest:
    return CacheRequest(block_hashes(np.array(tokens, dtype=np.int32), 4), len(tokens))


def hit_tokens(*requests: CacheRequest) -> list[int]:
    """By the pool; a last request that never fits keeps the replay from answering without one."""
    giant = CacheRequest(requests[0].blocks, 1000)
    bounded = replay([*requests, giant], block_size=4, capacity_blocks=100)[:-1]
    assert bounded == replay(requests, block_size=4, capacity_blocks=None)
    return [row.hit_tokens for row in bounded]


def test_semantic_01_a_hit_needs_the_whole_prefix() -> None:
    assert hit_tokens(prompt(1, 1, 1, 1, 2, 2, 2, 2, 3), prompt(9, 1, 1, 1, 2, 2, 2, 2, 3)) == [0, 0]


@pytest.mark.parametrize(("tokens", "hit"), [(7, 4), (8, 4), (9, 8)])
def test_semantic_02_hit_is_full_blocks_short_of_the_last_token(tokens: int, hit: int) -> None:
    request = prompt(*range(tokens))
    assert hit_tokens(request, request) == [0, hit]


def test_semantic_04_a_running_twin_hits_blocks_cached_so_far() -> None:
    pool = pool_of(8)
    first = pool.allocate(4).blocks
    pool.cache_full_blocks(first, hashes(1, 2), start=0)  # the first chunk
    assert pool.lookup(hashes(1, 2, 3, 4)) == first[:2]
    pool.cache_full_blocks(first, hashes(1, 2, 3, 4), start=2)
    assert pool.lookup(hashes(1, 2, 3, 4)) == first
    twin = pool.admit(hashes(1, 2, 3), first[:3], 1).blocks
    assert twin[:3] == first[:3]
    assert [pool.ref_counts[block] for block in first] == [2, 2, 2, 1]
    pool.check_integrity([first, twin])


def test_semantic_05_hit_on_free_block_uses_capacity() -> None:
    pool = pool_of(4)
    pool.free(run(pool, hashes(1, 2)))
    assert pool.free_blocks == 4
    hits = pool.lookup(hashes(1, 2))
    assert pool.fits(hits, 2)
    assert not pool.fits(hits, 3)
    blocks = pool.admit(hashes(1, 2), hits, 2).blocks
    assert pool.free_blocks == 0
    assert pool.fits(hits, 0)  # blocks in use already cost nothing more
    pool.check_integrity([blocks])


def test_semantic_05_hits_are_secured_before_victims_are_named() -> None:
    pool = pool_of(3)
    pool.free(run(pool, hashes(1, 2)))
    pool.free(run(pool, hashes(9)))
    allocation = pool.admit(hashes(1, 2), pool.lookup(hashes(1, 2)), 1)
    assert allocation.evicted == (9,)  # 2 and 1 were next in the queue


def test_semantic_06_eviction_is_lazy() -> None:
    pool = pool_of(3)
    blocks = run(pool, hashes(1, 2, 3))
    pool.free(blocks)
    assert pool.lookup(hashes(1, 2, 3)) == blocks
    assert pool.allocate(1).evicted == (3,)
    assert pool.lookup(hashes(1, 2, 3)) == blocks[:2]


def test_semantic_06_blocks_never_used_go_first_in_order_of_id() -> None:
    pool = pool_of(4)
    pool.free(run(pool, hashes(1)))
    assert next_blocks(pool) == [2, 3, 4, 1]


def test_semantic_07_tail_goes_back_first() -> None:
    pool = pool_of(3)
    blocks = run(pool, hashes(1, 2, 3))
    pool.free(blocks)
    assert next_blocks(pool) == blocks[::-1]


def test_semantic_07_blocks_without_hash_go_to_the_front() -> None:
    pool = pool_of(6)
    pool.free(run(pool, hashes(7)))
    blocks = run(pool, hashes(1, 2), blank_blocks=2)
    pool.free(blocks)
    assert blocks == [2, 3, 4, 5]
    assert next_blocks(pool) == [5, 4, 6, 1, 3, 2]


def test_semantic_07_a_shared_block_is_free_when_its_last_user_lets_go() -> None:
    pool = pool_of(4)
    first, second = run(pool, hashes(1)), run(pool, hashes(1))
    pool.free(first)
    assert pool.free_blocks == 3
    pool.free(second)
    assert pool.free_blocks == 4


def test_semantic_08_duplicates_are_kept_and_the_first_is_found() -> None:
    pool = pool_of(4)
    first = pool.allocate(1).blocks
    second = pool.allocate(1).blocks
    pool.cache_full_blocks(second, hashes(1), start=0)
    pool.cache_full_blocks(first, hashes(1), start=0)
    assert pool.lookup(hashes(1)) == second
    pool.check_integrity([first, second])
    pool.free(second)
    pool.free(first)
    assert pool.allocate(3).evicted == (1,)  # the second: it was freed first
    assert pool.lookup(hashes(1)) == first


def test_semantic_08_a_recomputed_last_block_is_a_duplicate() -> None:
    request = prompt(*range(8))
    first, second = replay([request, request], block_size=4, capacity_blocks=2)
    assert (first.hit_tokens, second.hit_tokens) == (0, 4)
    assert second.evicted == (int(request.blocks[1]),)  # two blocks do not hold three
    assert [row.evicted_blocks for row in replay([request] * 3, block_size=4, capacity_blocks=3)] == [0, 0, 1]


def test_semantic_09_the_null_block_is_not_usable() -> None:
    pool = pool_of(3)
    assert pool.free_blocks == 3
    blocks = next_blocks(pool)
    assert NULL_BLOCK not in blocks
    pool.free([NULL_BLOCK, *blocks])  # a table may name it; it is never freed
    assert NULL_BLOCK not in next_blocks(pool)


def test_semantic_10_the_last_sampled_token_has_no_block() -> None:
    fits_exactly = prompt(*range(4))._replace(output_tokens=5)  # 4 + 5 - 1 tokens: two blocks
    other = prompt(*range(10, 18))
    rows = replay([other, fits_exactly, other], block_size=4, capacity_blocks=4)
    assert [row.evicted_blocks for row in rows] == [0, 0, 1]  # the recomputed last block
    rows = replay([other, fits_exactly._replace(output_tokens=6)], block_size=4, capacity_blocks=4)
    assert rows[1].evicted_blocks == 1


def test_semantic_10_answer_blocks_are_cached_and_hit_where_their_tokens_are_known() -> None:
    answered = prompt(*range(12))._replace(prompt_tokens=5, output_tokens=8)
    following = prompt(*range(20))
    assert hit_tokens(answered, following) == [0, 12]
    assert hit_tokens(answered._replace(output_tokens=7), following) == [0, 8]
    assert hit_tokens(answered._replace(blocks=answered.blocks[:1]), following) == [0, 4]


def test_semantic_12_admission_needs_the_whole_prompt() -> None:
    pool = pool_of(3)
    running = run(pool, hashes(1))
    assert not pool.fits([], 3)
    with pytest.raises(IntegrityError, match="3 new blocks and 0 hits do not fit 2 free blocks of 3"):
        pool.allocate(3)
    pool.check_integrity([running])


def test_semantic_14_a_reset_is_refused_while_blocks_are_in_use() -> None:
    pool = pool_of(3)
    blocks = run(pool, hashes(1, 2))
    assert pool.reset() is False
    assert pool.lookup(hashes(1, 2)) == blocks
    pool.free(blocks)
    assert pool.reset() is True
    assert pool.lookup(hashes(1, 2)) == []
    pool.check_integrity()
    assert next_blocks(pool) == [3, 2, 1]  # the order stays, only the hashes go


def test_misuse_is_refused_and_named() -> None:
    pool = pool_of(2)
    blocks = run(pool, hashes(1))
    with pytest.raises(IntegrityError, match="block 1 cannot be cached as 5"):
        pool.cache_full_blocks(blocks, hashes(5), start=0)
    pool.free(blocks)
    with pytest.raises(IntegrityError, match="block 1 is freed but not in use"):
        pool.free(blocks)
    stale = pool.lookup(hashes(1))
    pool.free(next_blocks(pool))
    with pytest.raises(IntegrityError, match="block 1 was looked up but has no hash"):
        pool.admit(hashes(1), stale, 0)
    with pytest.raises(InputError, match="capacity of 0 blocks"):
        pool_of(0)


def test_a_policy_serves_one_pool() -> None:
    policy = Lru(2)
    pool = BlockPool(2, policy)
    pool.free(run(pool, hashes(1)))
    with pytest.raises(InputError, match="'lru' holds blocks of another pool"):
        BlockPool(2, policy)
