from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._errors import IntegrityError
from keepwarm.cache.prefix_tree import PrefixTree
from keepwarm.trace.hashes import BlockHashes, block_hashes

streams = st.lists(st.lists(st.integers(0, 2), max_size=9), max_size=14)


def hashed(streams_of_tokens: list[list[int]]) -> list[BlockHashes]:
    return [block_hashes(np.array(tokens, dtype=np.int32), 1) for tokens in streams_of_tokens]


def shares(left: list[int], right: list[int]) -> int:
    unequal = (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b)
    return next(unequal, min(len(left), len(right)))


@given(tokens=streams, added=st.sets(st.integers(0, 13)))
def test_each_block_has_the_latest_of_the_requests_added_before(
    tokens: list[list[int]], added: set[int]
) -> None:
    blocks = hashed(tokens)
    tree = PrefixTree(blocks.__getitem__)
    for index, mine in enumerate(tokens):
        if index not in added:
            continue
        runs = tree.add(index, blocks[index])
        starts = [0, *(run.end for run in runs)]
        holders = [
            run.request_index
            for start, run in zip(starts, runs, strict=False)
            for _ in range(run.end - start)
        ]
        expected = [
            max((i for i in added if i < index and shares(tokens[i], mine) > depth), default=-1)
            for depth in range(len(mine))
        ]
        assert [holder for holder in expected if holder >= 0] == holders
        assert all(a.request_index != b.request_index for a, b in itertools.pairwise(runs))


def test_memory_grows_with_requests_and_not_with_blocks() -> None:
    rng = np.random.default_rng(5)
    shared = rng.integers(0, 9, size=2_000).tolist()
    tokens = [shared[: rng.integers(0, 2_000)] + rng.integers(0, 9, size=500).tolist() for _ in range(50)]
    blocks = hashed(tokens)
    tree = PrefixTree(blocks.__getitem__)
    for index, own in enumerate(blocks):
        tree.add(index, own)
    assert len(tree._node_of) <= 2 * len(tokens)


def test_hashes_that_are_not_chained_are_said_not_followed_for_ever() -> None:
    blocks = [np.array([5], dtype=np.uint64), np.array([5, 5], dtype=np.uint64)]
    tree = PrefixTree(blocks.__getitem__)
    tree.add(0, blocks[0])
    with pytest.raises(IntegrityError, match="request 1 has the hash of block 1 at another depth, too"):
        tree.add(1, blocks[1])
