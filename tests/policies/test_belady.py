"""Each clause of Belady's rule, and that no choice of victims gives more hits."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm.cache.replay import CacheRequest, policy_for, replay
from keepwarm.policies import POLICIES
from keepwarm.policies.base import BlockHash, BlockId, CachedBlock, VictimOrder
from keepwarm.policies.belady import Belady
from keepwarm.trace.hashes import block_hashes

BLOCK_SIZE = 2


def held(*blocks: tuple[int, int, int]) -> list[CachedBlock]:
    """Blocks by id, hash and depth."""
    return [CachedBlock(BlockId(i), BlockHash(content), depth) for i, content, depth in blocks]


def lookups(*contents: list[int]) -> list[list[BlockHash]]:
    return [[BlockHash(each) for each in asked] for asked in contents]


def belady(*, asked: Sequence[list[int]] = (), stored: Sequence[list[int]] | None = None) -> Belady:
    return Belady(20, lookups(*asked), None if stored is None else lookups(*stored))


def test_the_one_hit_last_goes_first_and_those_never_hit_before_all() -> None:
    policy = belady(asked=[[10], [11], [12]])
    policy.on_free(held((1, 10, 1), (2, 12, 1), (3, 11, 1), (4, 13, 1)))
    assert list(policy) == [4, 2, 3, 1]


def test_a_use_that_is_over_counts_no_more() -> None:
    policy = belady(asked=[[10], [11], [10]])
    policy.on_free(held((1, 10, 1), (2, 11, 1)))
    assert list(policy) == [2, 1]
    policy.on_admit(lookups([10])[0])
    policy.on_hit(held((1, 10, 1))[0], was_free=True)
    policy.on_free(held((1, 10, 1)))
    assert list(policy) == [1, 2]


def test_the_deepest_goes_first_of_those_hit_at_the_same_time() -> None:
    policy = belady(asked=[[10, 11, 12]])
    policy.on_free(held((1, 11, 2), (2, 10, 1), (3, 12, 3)))
    assert list(policy) == [3, 1, 2]


def test_the_one_let_go_longest_ago_goes_first_of_those_as_deep() -> None:
    policy = belady()
    policy.on_free(held((3, 10, 1), (1, 11, 1)))
    policy.on_free(held((2, 12, 1)))
    assert list(policy) == [3, 1, 2]


def test_a_duplicate_goes_first_and_only_while_it_is_one() -> None:
    policy = belady(asked=[[11], [10]])
    policy.on_free(held((1, 10, 1), (2, 11, 1), (3, 11, 1), (4, 12, 1)))
    assert list(policy) == [2, 4, 1, 3]
    victim = policy.pop_victim()
    policy.on_evict(victim)
    assert list(policy) == [4, 1, 3]


def test_a_block_becomes_a_duplicate_when_another_is_cached() -> None:
    policy = belady(asked=[[10], [11]])
    policy.on_free(held((1, 10, 1), (2, 11, 1)))
    policy.on_cache(held((3, 10, 1))[0])
    assert list(policy) == [1, 2]


def test_what_is_computed_again_goes_first() -> None:
    """The second request has 10 and 11, and can hit 10 only: 11 ends with its last token."""
    policy = belady(asked=[[], [10], [10, 11], [12]], stored=[[], [10, 11], [10, 11, 13], [12]])
    policy.on_admit([])
    policy.on_free(held((2, 11, 2), (1, 10, 1), (3, 12, 1)))
    assert list(policy) == [2, 3, 1]  # 11 is kept for nothing until the second request
    policy.on_admit(lookups([10])[0])
    policy.on_hit(held((1, 10, 1))[0], was_free=True)
    assert list(policy) == [2, 3]  # and so it is now
    policy.on_cache(held((4, 11, 2))[0])
    policy.on_free(held((4, 11, 2), (1, 10, 1)))
    assert list(policy) == [2, 3, 4, 1]


def request(
    prompt: list[int], output_tokens: int = 0, known_output_tokens: int = 0, *, skip_reads: bool = False
) -> CacheRequest:
    ids = np.array([*prompt, *range(known_output_tokens)], dtype=np.int32)
    return CacheRequest(block_hashes(ids, BLOCK_SIZE), len(prompt), output_tokens, skip_reads)


def streams(most_requests: int, most_tokens: int) -> st.SearchStrategy[list[CacheRequest]]:
    requests = st.builds(
        request,
        st.lists(st.integers(0, 1), min_size=1, max_size=most_tokens),
        st.integers(0, 5),
        st.integers(0, 5),
        skip_reads=st.integers(0, 5).map(lambda value: value == 0),
    )
    return st.lists(requests, min_size=3, max_size=most_requests)


def hit_blocks(
    stream: list[CacheRequest], capacity_blocks: int, policy: str, match_unit_blocks: int = 1
) -> int:
    made = policy_for(policy, stream, block_size=BLOCK_SIZE, capacity_blocks=capacity_blocks)
    rows = replay(
        stream,
        block_size=BLOCK_SIZE,
        capacity_blocks=capacity_blocks,
        policy=made,
        match_unit_blocks=match_unit_blocks,
    )
    return sum(row.hit_tokens for row in rows) // BLOCK_SIZE


@settings(max_examples=300)
@given(stream=streams(14, 11), capacity_blocks=st.integers(2, 9))
def test_no_policy_hits_more(stream: list[CacheRequest], capacity_blocks: int) -> None:
    hits = {policy: hit_blocks(stream, capacity_blocks, policy) for policy in POLICIES}
    assert max(hits.values()) == hits["belady"]


class Choice(NamedTuple):
    taken: int
    among: int


class Chooser(VictimOrder):
    """Takes the victims it is told to, each by its place among those held; then always the first."""

    name = "chooser"

    def __init__(self, capacity_blocks: int, plan: list[int], made: list[Choice]) -> None:
        super().__init__(capacity_blocks)
        self._held: dict[BlockId, CachedBlock] = {}
        self._plan = plan
        self._made = made

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        self._held.update((block.id, block) for block in blocks)

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        if was_free:
            del self._held[block.id]

    def pop_victim(self) -> CachedBlock:
        place = self._plan[len(self._made)] if len(self._made) < len(self._plan) else 0
        self._made.append(Choice(place, len(self._held)))
        return self._held.pop(sorted(self._held)[place])

    def on_reset(self) -> list[BlockId]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[BlockId]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


MOST_RUNS = 300


def hits_of_all_choices(stream: list[CacheRequest], capacity_blocks: int) -> set[int]:
    """Of every sequence of victims; empty if there are more than a test has time for."""
    found: set[int] = set()
    plan: list[int] | None = []
    for _ in range(MOST_RUNS):
        made: list[Choice] = []
        rows = replay(
            stream,
            block_size=BLOCK_SIZE,
            capacity_blocks=capacity_blocks,
            policy=partial(Chooser, plan=plan, made=made),
        )
        found.add(sum(row.hit_tokens for row in rows) // BLOCK_SIZE)
        while made and made[-1].taken + 1 == made[-1].among:
            made.pop()
        if not made:
            return found
        plan = [*(choice.taken for choice in made[:-1]), made[-1].taken + 1]
    return set()


def random_stream(rng: random.Random) -> list[CacheRequest]:
    return [
        request(
            [rng.randint(0, 1) for _ in range(rng.randint(1, 7))],
            rng.choice([0, 0, 1, 3, 5]),
            rng.randint(0, 5),
            skip_reads=rng.random() < 0.15,
        )
        for _ in range(rng.randint(3, 7))
    ]


def test_no_choice_of_victims_hits_more() -> None:
    """On streams where it matters which victims are chosen, and few enough for all choices to be tried."""
    rng = random.Random(5)
    decisive = 0
    while decisive < 25:
        stream, capacity_blocks = random_stream(rng), rng.randint(2, 4)
        possible = hits_of_all_choices(stream, capacity_blocks)
        if len(possible) > 1:
            decisive += 1
            assert hit_blocks(stream, capacity_blocks, "belady") == max(possible)


def test_another_policy_can_hit_more_where_a_match_unit_has_several_blocks() -> None:
    """The block asked for alone is worth nothing in units of two; the rule keeps it for its next use."""
    alone, pair, flood = [2, 2, 9], [1, 1, 0, 0, 9], [0, 0, 0, 0, 0, 0, 0, 0, 9]
    stream = [request(prompt) for prompt in (alone, pair, pair, flood, alone, pair)]
    assert hit_blocks(stream, 7, "belady", match_unit_blocks=2) == 2
    assert hit_blocks(stream, 7, "lfu", match_unit_blocks=2) == 4
    assert hit_blocks(stream, 7, "belady") >= hit_blocks(stream, 7, "lfu")


def test_without_a_prediction_everything_is_never_hit_again() -> None:
    policy = POLICIES["belady"](20)
    policy.on_free(held((1, 10, 2), (2, 11, 1), (3, 12, 3)))
    assert list(policy) == [3, 1, 2]
    with pytest.raises(LookupError):
        belady().pop_victim()
