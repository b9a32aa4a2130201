from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.cache.holders import SharedPrefix, longest_shared_prefix
from keepwarm.trace.hashes import BlockHashes, block_hashes

streams = st.lists(st.lists(st.integers(0, 2), max_size=8), max_size=12)


def hashed(streams_of_tokens: list[list[int]]) -> list[BlockHashes]:
    return [block_hashes(np.array(tokens, dtype=np.int32), 1) for tokens in streams_of_tokens]


def shares(left: list[int], right: list[int]) -> int:
    """Length of the common prefix, counted token by token."""
    count = 0
    while count < min(len(left), len(right)) and left[count] == right[count]:
        count += 1
    return count


@given(tokens=streams)
def test_longest_shared_prefix_names_the_latest_request_with_all_of_it(tokens: list[list[int]]) -> None:
    expected = []
    for index, mine in enumerate(tokens):
        depth, holder = max(((shares(tokens[i], mine), i) for i in range(index)), default=(0, -1))
        expected.append(SharedPrefix(holder if depth else -1, depth))
    assert list(longest_shared_prefix(hashed(tokens))) == expected


def test_no_requests_and_empty_requests() -> None:
    assert list(longest_shared_prefix([])) == []
    assert list(longest_shared_prefix(hashed([[], [1], [], [1]]))) == [
        SharedPrefix(-1, 0),
        SharedPrefix(-1, 0),
        SharedPrefix(-1, 0),
        SharedPrefix(1, 1),
    ]
