from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keepwarm.policies.lfu import MOST_HITS, Lfu
from tests.policies.streams import HIT, block, single_blocks, skewed


def textbook(capacity: int, accesses: list[int]) -> list[int | None]:
    """Everything cached in one list, least recently used first; the first of the fewest hits goes."""
    hits: dict[int, int] = {}
    order: list[int] = []
    outcomes: list[int | None] = []
    for content in accesses:
        evicted = None
        if content in order:
            order.remove(content)
            hits[content] = min(hits[content] + 1, 255)
            evicted = HIT
        else:
            hits[content] = 0
            if len(order) == capacity:
                evicted = min(order, key=hits.__getitem__)
                order.remove(evicted)
        order.append(content)
        outcomes.append(evicted)
    return outcomes


@given(st.integers(1, 25), st.integers(0, 2**32 - 1))
def test_is_the_textbook_rule_where_nothing_is_in_use(capacity: int, seed: int) -> None:
    accesses = skewed(seed, capacity)
    assert single_blocks(Lfu(capacity), accesses) == textbook(capacity, accesses)


def test_fewest_hits_go_first_and_then_the_longest_free() -> None:
    policy = Lfu(10)
    for hits_on in (1, 1, 2, 4):
        policy.on_hit(block(hits_on), was_free=False)
    policy.on_free([block(i) for i in (1, 2, 3, 4, 5)])
    assert list(policy) == [3, 5, 2, 4, 1]


def test_the_count_is_of_the_content_and_not_of_the_block() -> None:
    policy = Lfu(10)
    policy.on_hit(block(1), was_free=False)
    policy.on_free([block(1)])
    assert policy.pop_victim() == block(1)
    policy.on_free([block(1), block(2)])
    assert list(policy) == [1, 2]


def test_the_count_ends_at_its_limit() -> None:
    policy = Lfu(10)
    for _ in range(MOST_HITS + 10):
        policy.on_hit(block(1), was_free=False)
    policy.on_free([block(1)])
    for _ in range(MOST_HITS):
        policy.on_hit(block(2), was_free=False)
    policy.on_free([block(2)])
    assert list(policy) == [1, 2]
