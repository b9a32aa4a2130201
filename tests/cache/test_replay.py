from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.cache.replay import CacheRequest, ReplayRow, policy_for, replay
from keepwarm.policies import POLICIES
from keepwarm.trace.hashes import block_hashes, hashed_prompt_blocks
from keepwarm.trace.records import HashedPrompt

BLOCK_SIZE = 2


def request(
    tokens: list[int], output_tokens: int = 0, known_output_tokens: int = 0, *, skip_reads: bool = False
) -> CacheRequest:
    ids = np.array([*tokens, *range(known_output_tokens)], dtype=np.int32)
    return CacheRequest(block_hashes(ids, BLOCK_SIZE), len(tokens), output_tokens, skip_reads)


requests = st.builds(
    request,
    st.lists(st.integers(0, 1), max_size=9),
    st.integers(0, 5),
    st.integers(0, 5),
    skip_reads=st.booleans(),
)
streams = st.lists(requests, max_size=12)
NEVER_FITS = CacheRequest(np.empty(0, dtype=np.uint64), 10_000)


@given(streams)
def test_unbounded_equals_a_pool_that_never_evicts(stream: list[CacheRequest]) -> None:
    # The last request is for more blocks than there are, which keeps the bounded replay on the pool.
    bounded = replay([*stream, NEVER_FITS], block_size=BLOCK_SIZE, capacity_blocks=200)
    assert bounded[:-1] == replay(stream, block_size=BLOCK_SIZE, capacity_blocks=None)


@given(streams, st.integers(0, 3))
def test_enough_capacity_equals_unbounded(stream: list[CacheRequest], spare_blocks: int) -> None:
    used = sum(-(-each.computed_tokens() // BLOCK_SIZE) for each in stream)
    enough = replay(stream, block_size=BLOCK_SIZE, capacity_blocks=max(1, used + spare_blocks))
    assert enough == replay(stream, block_size=BLOCK_SIZE, capacity_blocks=None)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@given(stream=streams, capacity_blocks=st.integers(1, 12))
def test_what_holds_for_every_policy(policy: type, stream: list[CacheRequest], capacity_blocks: int) -> None:
    rows = replay(stream, block_size=BLOCK_SIZE, capacity_blocks=capacity_blocks, policy=policy)
    best = replay(stream, block_size=BLOCK_SIZE, capacity_blocks=None)
    cached = 0
    for each, row, most in zip(stream, rows, best, strict=True):
        assert row.prompt_tokens == each.prompt_tokens
        assert row.hit_tokens <= most.hit_tokens
        assert row.hit_tokens % BLOCK_SIZE == 0
        assert row.too_large == (each.prompt_tokens > capacity_blocks * BLOCK_SIZE)
        if row.too_large:
            assert (row.hit_tokens, row.evicted_blocks) == (0, 0)
            continue
        full_blocks = min(each.computed_tokens() // BLOCK_SIZE, capacity_blocks)
        cached += full_blocks - row.hit_tokens // BLOCK_SIZE - row.evicted_blocks
        assert 0 <= cached <= capacity_blocks


def test_output_of_unknown_content_takes_space_but_never_matches() -> None:
    prompt = [1, 2, 3]
    rows = replay([request(prompt, 6)] * 2, block_size=BLOCK_SIZE, capacity_blocks=6)
    assert [row.hit_tokens for row in rows] == [0, 2]
    # 8 tokens in 4 blocks; of the second request 1 is hit and 3 are new, 2 of them blank ones.
    assert rows[1].evicted_blocks == 1
    assert rows[1].evicted[0] < 0


def test_a_request_that_skips_reads_still_stores() -> None:
    tokens = [1, 2, 3, 4, 5]
    stream = [request(tokens, skip_reads=True), request(tokens, skip_reads=True), request(tokens)]
    for capacity_blocks in (None, 100, 8):
        rows = replay(stream, block_size=BLOCK_SIZE, capacity_blocks=capacity_blocks)
        assert [row.hit_tokens for row in rows] == [0, 0, 4]


def test_a_prompt_that_never_fits_changes_nothing() -> None:
    small, large = request([1, 2, 3]), request([1, 2, 3, 4, 5])
    rows = replay([small, large, small], block_size=BLOCK_SIZE, capacity_blocks=2)
    assert rows[1] == ReplayRow(5, 0, (), too_large=True)
    assert rows[2] == ReplayRow(3, 2)


def test_an_answer_ends_where_the_capacity_does() -> None:
    rows = replay([request([1, 2, 3], 50), request([1, 2, 3])], block_size=BLOCK_SIZE, capacity_blocks=4)
    assert not rows[0].too_large
    assert rows[1].hit_tokens == 2  # the tail of the answer is lost first


def test_blocks_asked_for_after_they_were_evicted_are_counted() -> None:
    first, other = request([0, 0, 0, 0, 0]), request([1, 1, 1, 1, 1])
    stream = [first, other, first, first, first._replace(skip_reads=True)]
    rows = replay(stream, block_size=BLOCK_SIZE, capacity_blocks=3)
    assert [row.evicted_blocks for row in rows] == [0, 2, 2, 0, 2]
    assert [row.requested_again_blocks for row in rows] == [0, 0, 2, 0, 0]


def test_a_block_with_a_copy_left_is_not_asked_for_again() -> None:
    twice = request([0, 0, 0, 0])  # its second block is computed each time: four copies of it in the end
    stream = [*[twice] * 4, request([1, 1, 1]), request([0, 0, 0, 0, 0])]
    rows = replay(stream, block_size=BLOCK_SIZE, capacity_blocks=5)
    assert rows[4].evicted[0] == int(twice.blocks[1])
    assert rows[5] == ReplayRow(5, 4, rows[5].evicted)


def test_without_answers_requests_end_with_their_prompts() -> None:
    stream = [request([1, 2, 3], 8, 8), request([1, 2, 3], 0, 8)._replace(prompt_tokens=9)]
    kept = replay([*stream, NEVER_FITS], block_size=BLOCK_SIZE, capacity_blocks=20)
    assert kept[1].hit_tokens == 8
    for capacity_blocks in (None, 20, 7):
        rows = replay(
            [*stream, NEVER_FITS], block_size=BLOCK_SIZE, capacity_blocks=capacity_blocks, ignore_output=True
        )
        assert [row.hit_tokens for row in rows[:2]] == [0, 2]
        assert [row.evicted_blocks for row in rows] == [0, 0, 0]


def test_a_policy_is_made_by_its_name() -> None:
    stream = [request([1, 2, 3]), request([1, 2, 3, 4, 5])]
    for name in POLICIES:
        make = policy_for(name, stream, block_size=BLOCK_SIZE, capacity_blocks=2)
        assert make(2).name == name
        assert make(2) is not make(2)
    with pytest.raises(InputError, match="policy 'cachewise' needs sessions"):
        policy_for("cachewise", [], block_size=4, capacity_blocks=8)
    with pytest.raises(InputError, match=r"unknown policy 'mru'; known are lru, .*belady"):
        policy_for("mru", stream, block_size=BLOCK_SIZE, capacity_blocks=2)


def test_a_huge_capacity_costs_nothing() -> None:
    assert replay([request([1, 2, 3])] * 2, block_size=BLOCK_SIZE, capacity_blocks=10**15)[1].hit_tokens == 2


def test_nothing_to_replay() -> None:
    assert replay([], block_size=16, capacity_blocks=None) == []
    assert replay([], block_size=16, capacity_blocks=1) == []
    empty = request([])
    assert replay([empty] * 2, block_size=BLOCK_SIZE, capacity_blocks=None) == [ReplayRow(0, 0)] * 2


def test_bad_arguments_are_named() -> None:
    with pytest.raises(InputError, match="block size 0"):
        replay([], block_size=0, capacity_blocks=None)
    with pytest.raises(InputError, match="capacity of 0 blocks"):
        replay([], block_size=16, capacity_blocks=0)
    with pytest.raises(InputError, match="capacity of -1 blocks"):
        replay([request([1, 2, 3])], block_size=16, capacity_blocks=-1)


def test_production_traffic_hits_what_its_own_ids_say(shared: Path) -> None:
    """Mooncake's ids are prefixes already, so plain sets of them tell the hits of a boundless cache."""
    trace = shared / "data" / "mooncake" / "synthetic_trace.jsonl.gz"
    records = [json.loads(line) for line in gzip.decompress(trace.read_bytes()).splitlines()]
    stream, expected, seen = [], [], set()
    for record in records:
        tokens, ids = record["input_length"], record["hash_ids"]
        prompt = HashedPrompt(hash_ids=ids, block_size=512, input_tokens=tokens)
        stream.append(CacheRequest(hashed_prompt_blocks(prompt), tokens))
        full = ids[: tokens // 512]
        hit = next((i for i, block in enumerate(full) if block not in seen), len(full))
        expected.append(min(hit, (tokens - 1) // 512) * 512)
        seen.update(full)
    rows = replay(stream, block_size=512, capacity_blocks=None)
    assert [row.hit_tokens for row in rows] == expected
    # More blocks than are ever distinct, fewer than are ever taken: the pool itself, without a loss.
    assert [row.hit_tokens for row in replay(stream, block_size=512, capacity_blocks=60_000)] == expected
