"""The LRU of independent blocks counts the hits that a dictionary does."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm.cache.kernels import run_independent_lru


def hits_by_dictionary(ids: list[int], capacity_blocks: int) -> int:
    cached: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for block in ids:
        if block in cached:
            hits += 1
            cached.move_to_end(block)
            continue
        if len(cached) == capacity_blocks:
            cached.popitem(last=False)
        cached[block] = None
    return hits


runs = st.builds(
    lambda start, length: list(range(start, start + length)), st.integers(0, 12), st.integers(1, 8)
)
traces = st.lists(runs, max_size=30).map(lambda parts: [block for part in parts for block in part])


@settings(max_examples=500)
@given(ids=traces, capacity_blocks=st.integers(1, 22))
def test_hits_are_those_of_a_dictionary(ids: list[int], capacity_blocks: int) -> None:
    expected = hits_by_dictionary(ids, capacity_blocks)
    assert run_independent_lru(np.array(ids, dtype=np.int32), capacity_blocks) == expected


def test_nothing_is_read() -> None:
    assert run_independent_lru(np.empty(0, dtype=np.int32), 3) == 0
