from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keepwarm.policies.slru import Slru, protected_limit_blocks
from tests.policies.streams import HIT, block, single_blocks, skewed


def textbook(capacity: int, accesses: list[int]) -> list[int | None]:
    """Two lists, oldest first, searched from end to end."""
    probation: list[int] = []
    protected: list[int] = []
    outcomes: list[int | None] = []
    for content in accesses:
        if content in probation + protected:
            (protected if content in protected else probation).remove(content)
            protected.append(content)
            while len(protected) > capacity * 8 // 10:
                probation.append(protected.pop(0))
            outcomes.append(HIT)
            continue
        full = len(probation) + len(protected) == capacity
        outcomes.append((probation or protected).pop(0) if full else None)
        probation.append(content)
    return outcomes


@given(st.integers(1, 25), st.integers(0, 2**32 - 1))
def test_is_the_textbook_rule_where_nothing_is_in_use(capacity: int, seed: int) -> None:
    accesses = skewed(seed, capacity)
    assert single_blocks(Slru(capacity), accesses) == textbook(capacity, accesses)


def test_a_block_that_was_hit_outlives_those_that_were_not() -> None:
    policy = Slru(10)
    policy.on_free([block(1)])
    policy.on_hit(block(1), was_free=True)
    policy.on_free([block(1), block(2), block(3)])
    assert list(policy) == [2, 3, 1]


def test_a_hit_on_a_block_in_use_protects_it_too() -> None:
    policy = Slru(10)
    policy.on_hit(block(1), was_free=False)
    policy.on_free([block(1), block(2)])
    assert list(policy) == [2, 1]


def test_what_overflows_protection_goes_to_the_end_of_probation_in_turn() -> None:
    policy = Slru(5)
    assert protected_limit_blocks(5) == 4
    for i in range(1, 6):
        policy.on_hit(block(i), was_free=False)
    policy.on_free([block(1), block(2), block(3), block(4), block(7), block(5), block(6)])
    # 1 overflows when 5 comes: after 7, before 6.
    assert list(policy) == [7, 1, 6, 2, 3, 4, 5]


def test_a_block_reused_for_other_content_starts_on_probation() -> None:
    policy = Slru(10)
    policy.on_hit(block(1), was_free=False)
    policy.on_free([block(1)])
    policy.pop_victim()
    policy.on_free([block(1), block(2)])
    assert list(policy) == [1, 2]


def test_the_smallest_pool_protects_nothing() -> None:
    policy = Slru(1)
    policy.on_hit(block(1), was_free=False)
    policy.on_free([block(1)])
    assert list(policy) == [1]
