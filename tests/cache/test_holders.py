from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.cache import holders
from keepwarm.cache.holders import SharedPrefix, block_holders, longest_shared_prefix
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


@pytest.fixture(params=[False, True], ids=["one sort", "sort by bucket"], autouse=True)
def both_ways_of_sorting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(holders, "_ONE_BUCKET_BLOCKS", 0)


@given(tokens=streams)
def test_holders_are_what_a_search_of_all_earlier_requests_finds(tokens: list[list[int]]) -> None:
    found = block_holders(hashed(tokens))
    for index, mine in enumerate(tokens):
        start, end = found.starts[index : index + 2]
        assert end - start == len(mine)
        for depth in range(len(mine)):
            earlier = [i for i in range(index) if shares(tokens[i], mine) > depth] or [-1]
            assert found.latest[start + depth] == earlier[-1]


@given(tokens=streams)
def test_longest_shared_prefix_names_the_latest_request_with_all_of_it(tokens: list[list[int]]) -> None:
    expected = []
    for index, mine in enumerate(tokens):
        depth, holder = max(((shares(tokens[i], mine), i) for i in range(index)), default=(0, -1))
        expected.append(SharedPrefix(holder if depth else -1, depth))
    assert longest_shared_prefix(hashed(tokens)) == expected


def test_no_requests_and_empty_requests() -> None:
    assert longest_shared_prefix([]) == []
    assert longest_shared_prefix(hashed([[], [1], [], [1]])) == [
        SharedPrefix(-1, 0),
        SharedPrefix(-1, 0),
        SharedPrefix(-1, 0),
        SharedPrefix(1, 1),
    ]


def test_both_ways_of_sorting_agree_on_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    blocks = hashed([rng.integers(0, 2, size=rng.integers(0, 200)).tolist() for _ in range(400)])
    here = block_holders(blocks)
    monkeypatch.setattr(holders, "_ONE_BUCKET_BLOCKS", 1 << 40)
    for ours, single in zip(here, block_holders(blocks), strict=True):
        assert (ours == single).all()
