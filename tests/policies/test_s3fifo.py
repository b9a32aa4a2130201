from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keepwarm.policies.s3fifo import S3Fifo, main_limit_blocks
from tests.policies.streams import HIT, block, single_blocks, skewed


class Textbook:
    """The paper's algorithm 1 on lists, oldest first; one victim an eviction, the ghost by age."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.small_share = max(1, capacity // 10)
        self.small: list[int] = []
        self.main: list[int] = []
        self.frequency: dict[int, int] = {}
        self.ghost: list[int | None] = []  # None where one was recalled

    def access(self, content: int) -> int | None:
        if content in self.small + self.main:
            self.frequency[content] = min(self.frequency[content] + 1, 3)
            return HIT
        full = len(self.small) + len(self.main) == self.capacity
        evicted = self.evict() if full else None
        recent = self.ghost[-(self.capacity - self.small_share) :] if self.capacity > self.small_share else []
        (self.main if content in recent else self.small).append(content)
        self.ghost = [None if each == content else each for each in self.ghost]
        self.frequency[content] = 0
        return evicted

    def evict(self) -> int:
        if len(self.small) < self.small_share:
            return self.evict_from_main()
        while self.small:
            oldest = self.small.pop(0)
            if self.frequency[oldest] <= 1:
                self.ghost.append(oldest)
                return oldest
            self.frequency[oldest] = 0
            self.main.append(oldest)
            if len(self.main) > self.capacity - self.small_share:
                return self.evict_from_main()
        return self.evict_from_main()

    def evict_from_main(self) -> int:
        while self.frequency[self.main[0]]:
            self.frequency[self.main[0]] -= 1
            self.main.append(self.main.pop(0))
        return self.main.pop(0)


@given(st.integers(1, 25), st.integers(0, 2**32 - 1))
def test_is_the_paper_where_nothing_is_in_use(capacity: int, seed: int) -> None:
    accesses = skewed(seed, capacity)
    textbook = Textbook(capacity)
    assert single_blocks(S3Fifo(capacity), accesses) == [textbook.access(each) for each in accesses]


def hit_and_let_go(policy: S3Fifo, block_id: int, hits: int) -> None:
    for _ in range(hits):
        policy.on_hit(block(block_id), was_free=True)
        policy.on_free([block(block_id)])


def test_one_hit_is_not_enough_to_reach_main() -> None:
    policy = S3Fifo(20)
    policy.on_free([block(1), block(2), block(3)])
    hit_and_let_go(policy, 1, hits=1)
    hit_and_let_go(policy, 2, hits=2)
    assert list(policy) == [1, 3, 2]


def test_content_evicted_lately_goes_to_main() -> None:
    policy = S3Fifo(20)
    policy.on_free([block(1, 77)])
    policy.pop_victim()
    policy.on_cache(block(1, 77))
    policy.on_free([block(1, 77), block(2)])
    assert list(policy) == [2, 1]


def test_content_evicted_long_ago_starts_again() -> None:
    policy = S3Fifo(20)
    policy.on_free([block(1, 77)])
    policy.pop_victim()
    for i in range(main_limit_blocks(20)):
        policy.on_free([block(2, 100 + i)])
        policy.pop_victim()
    policy.on_cache(block(1, 77))
    policy.on_free([block(1, 77), block(2)])
    assert list(policy) == [1, 2]


def test_content_evicted_once_more_is_remembered_for_as_long_again_and_others_are_not() -> None:
    policy = S3Fifo(20)
    others = [block(i, 100 + i) for i in range(3, main_limit_blocks(20) + 2)]
    # Twins: the first falls out before the others, the second after them.
    policy.on_free([block(1, 77), *others, block(2, 77)])
    for _ in range(len(policy)):
        policy.pop_victim()
    policy.on_free([block(3, 200)])
    policy.pop_victim()
    policy.on_cache(block(1, 77))
    policy.on_cache(others[0])
    policy.on_free([block(1, 77), others[0], block(2)])
    assert list(policy) == [3, 2, 1]


def test_a_prompt_being_stored_takes_from_small_and_not_from_main() -> None:
    policy = S3Fifo(20)
    policy.on_free([block(i) for i in range(1, 11)])
    for i in range(1, 6):
        hit_and_let_go(policy, i, hits=2)
    # The other ten blocks of the pool are in use and new: 1 to 5 are all there is of main.
    assert list(policy) == [6, 7, 8, 9, 10, 1, 2, 3, 4, 5]


def test_a_block_met_in_use_at_the_head_of_small_comes_back_in_main() -> None:
    policy = S3Fifo(20)
    policy.on_free([block(1), block(2), block(3)])
    policy.on_hit(block(1), was_free=True)
    assert policy.pop_victim().id == 2
    policy.on_free([block(1), block(4)])
    assert list(policy) == [3, 4, 1]


def test_a_block_in_use_keeps_its_place_and_counts() -> None:
    policy = S3Fifo(20)
    policy.on_free([block(1), block(2), block(3)])
    policy.on_hit(block(1), was_free=True)
    policy.on_free([block(1)])
    assert list(policy) == [1, 2, 3]
    policy.on_hit(block(1), was_free=True)
    policy.on_free([block(1)])
    assert list(policy) == [2, 3, 1]
