"""``check_integrity`` finds each kind of damage and says where it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from keepwarm._errors import IntegrityError
from keepwarm.cache.pool import BlockPool
from keepwarm.policies.base import BlockHash, BlockId, CachedBlock
from keepwarm.policies.lru import Lru

USED, CACHED, TWIN, BLANK = BlockId(1), BlockId(2), BlockId(3), BlockId(4)


class MiscountingLru(Lru):
    """Says it holds one block more than it does."""

    def __len__(self) -> int:
        return super().__len__() + 1


def healthy(policy: type[Lru] = Lru) -> BlockPool:
    """Block 1 in use by one request, 2 and 3 cached with equal content, 4 blank."""
    pool = BlockPool(4, Lru(4))
    pool.policy = policy(4)
    used, first, second = (pool.allocate(1).blocks for _ in range(3))
    pool.cache_full_blocks(used, [BlockHash(10)], start=0)
    for blocks in (first, second):
        pool.cache_full_blocks(blocks, [BlockHash(20)], start=0)
        pool.free(blocks)
    assert (used, first, second) == ([USED], [CACHED], [TWIN])
    return pool


def damage_reference_count(pool: BlockPool) -> None:
    pool.ref_counts[USED] = 2


def damage_null_block(pool: BlockPool) -> None:
    pool.ref_counts[0] = 0


def lose_blank_block(pool: BlockPool) -> None:
    pool._blank.clear()


def list_block_twice(pool: BlockPool) -> None:
    pool._blank.append(BLANK)


def free_used_block(pool: BlockPool) -> None:
    pool._blank.append(USED)


def give_blank_block_a_hash(pool: BlockPool) -> None:
    pool.contents[BLANK] = CachedBlock(BLANK, BlockHash(30), 1)


def hold_block_without_hash(pool: BlockPool) -> None:
    pool.policy.on_free([CachedBlock(pool._blank.pop(), BlockHash(30), 1)])


def lose_block_from_map(pool: BlockPool) -> None:
    del pool._by_hash[BlockHash(10)]


def map_block_to_another_hash(pool: BlockPool) -> None:
    pool._by_hash[BlockHash(40)] = pool._by_hash.pop(BlockHash(10))


def map_block_twice(pool: BlockPool) -> None:
    pool._by_hash[BlockHash(20)].append(USED)


def leave_hash_without_block(pool: BlockPool) -> None:
    pool._by_hash[BlockHash(50)] = []


def test_a_healthy_pool_passes() -> None:
    healthy().check_integrity([[USED]])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_reference_count, "block 1: reference count 2, but 1 requests hold it"),
        (damage_null_block, "block 0: reference count 0"),
        (lose_blank_block, r"1 used \+ 2 free blocks are not 4"),
        (list_block_twice, "block 4: twice among the free blocks"),
        (free_used_block, "block 1: free, but its reference count is 1"),
        (give_blank_block_a_hash, "block 4: blank, but has CachedBlock"),
        (hold_block_without_hash, "block 4: held by the policy, but has no hash"),
        (lose_block_from_map, "block 1: has CachedBlock.* but the hash map says None"),
        (map_block_to_another_hash, "block 1: has CachedBlock.*hash=10.*says 40"),
        (map_block_twice, "block 1: twice in the hash map"),
        (leave_hash_without_block, "hash 50: in the map without a block"),
    ],
)
def test_damage_is_found_and_named(damage: Callable[[BlockPool], None], message: str) -> None:
    pool = healthy()
    damage(pool)
    with pytest.raises(IntegrityError, match=message):
        pool.check_integrity([[USED]])


def test_a_request_that_holds_what_it_was_not_given_is_found() -> None:
    with pytest.raises(IntegrityError, match="block 2: reference count 0, but 1 requests hold it"):
        healthy().check_integrity([[USED], [CACHED]])


def test_a_policy_that_miscounts_is_found() -> None:
    with pytest.raises(IntegrityError, match="policy says it holds 3 blocks, but lists 2"):
        healthy(MiscountingLru).check_integrity([[USED]])
