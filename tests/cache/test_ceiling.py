from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.cache.ceiling import unbounded_hit_blocks
from keepwarm.cache.intern import intern_requests
from keepwarm.cache.replay import CacheRequest, replay
from keepwarm.trace.hashes import block_hashes

BLOCK_SIZE = 4


@st.composite
def requests(draw: st.DrawFn) -> list[CacheRequest]:
    """Prompts that are beginnings of one another and answers that later prompts go on from."""
    drawn = []
    for _ in range(draw(st.integers(1, 8))):
        length = draw(st.integers(0, 20))
        tokens = np.full(length, draw(st.integers(0, 1)), dtype=np.int32)
        prompt = draw(st.integers(0, length))
        known = draw(st.booleans())
        hashes = block_hashes(tokens if known else tokens[:prompt], BLOCK_SIZE)
        drawn.append(CacheRequest(hashes, prompt, length - prompt, draw(st.booleans())))
    return drawn


@given(requests(), st.booleans(), st.integers(1, 3))
def test_it_is_the_replay_without_bound(stream: list[CacheRequest], ignore_output: bool, unit: int) -> None:
    found = unbounded_hit_blocks(
        intern_requests(stream, BLOCK_SIZE), ignore_output=ignore_output, match_unit_blocks=unit
    )
    rows = replay(
        stream,
        block_size=BLOCK_SIZE,
        capacity_blocks=None,
        match_unit_blocks=unit,
        ignore_output=ignore_output,
    )
    assert (found * BLOCK_SIZE).tolist() == [row.hit_tokens for row in rows]
