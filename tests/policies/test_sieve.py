from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keepwarm.policies.sieve import Sieve
from tests.policies.streams import HIT, block, single_blocks, skewed


def textbook(capacity: int, accesses: list[int]) -> list[int | None]:
    """One list, newest first, and an index that walks towards its front."""
    queue: list[int] = []
    visited: set[int] = set()
    hand: int | None = None  # the content it stands at
    outcomes: list[int | None] = []
    for content in accesses:
        if content in queue:
            visited.add(content)
            outcomes.append(HIT)
            continue
        evicted = None
        if len(queue) == capacity:
            at = len(queue) - 1 if hand is None else queue.index(hand)
            while queue[at] in visited:
                visited.remove(queue[at])
                at = at - 1 if at else len(queue) - 1
            hand = queue[at - 1] if at else None
            evicted = queue.pop(at)
        queue.insert(0, content)
        outcomes.append(evicted)
    return outcomes


@given(st.integers(1, 25), st.integers(0, 2**32 - 1))
def test_is_the_textbook_rule_where_nothing_is_in_use(capacity: int, seed: int) -> None:
    accesses = skewed(seed, capacity)
    assert single_blocks(Sieve(capacity), accesses) == textbook(capacity, accesses)


def three_free() -> Sieve:
    policy = Sieve(10)
    policy.on_free([block(1), block(2), block(3)])
    return policy


def test_a_hit_moves_nothing() -> None:
    policy = three_free()
    policy.on_hit(block(2), was_free=True)
    policy.on_free([block(2)])
    assert list(policy) == [1, 3, 2]  # passed over once, still between the two
    assert policy.pop_victim().id == 1
    policy.on_free([block(4)])
    assert [policy.pop_victim().id for _ in range(3)] == [3, 4, 2]


def test_a_block_in_use_keeps_its_place() -> None:
    policy = three_free()
    policy.on_hit(block(2), was_free=True)
    assert list(policy) == [1, 3]
    assert policy.pop_victim().id == 1
    policy.on_free([block(2)])
    policy.on_free([block(4)])
    assert [policy.pop_victim().id for _ in range(3)] == [3, 4, 2]


def test_a_block_that_the_hand_met_in_use_comes_back_as_the_newest_and_unmarked() -> None:
    policy = three_free()
    policy.on_hit(block(1), was_free=True)
    assert policy.pop_victim().id == 2
    policy.on_free([block(1), block(4)])
    assert list(policy) == [3, 1, 4]


def test_a_hit_before_the_first_release_counts() -> None:
    policy = Sieve(10)
    policy.on_hit(block(1), was_free=False)
    policy.on_free([block(1), block(2)])
    assert list(policy) == [2, 1]


def test_blocks_in_use_are_never_victims_however_often_the_hand_comes_round() -> None:
    policy = three_free()
    for i in (1, 2):
        policy.on_hit(block(i), was_free=True)
    for _ in range(5):
        assert policy.pop_victim().id == 3
        policy.on_free([block(3)])
    assert len(policy) == 1
