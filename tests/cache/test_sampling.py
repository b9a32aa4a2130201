"""The sampled curve: exact where every block is followed, near it where few are, and it says how near."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.shards_error import errors_of
from keepwarm._errors import InputError
from keepwarm.cache.ceiling import unbounded_hit_blocks
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.intern import intern_requests
from keepwarm.cache.kernels import run_kernel
from keepwarm.cache.load import load_trace
from keepwarm.cache.model import capacity_grid
from keepwarm.cache.options import TraceOptions
from keepwarm.cache.replay import CacheRequest
from keepwarm.cache.sampling import sampled_lru_curve
from keepwarm.trace.hashes import block_hashes

BLOCK_SIZE = 2


def request(
    prompt: Sequence[int], output_tokens: int = 0, known_output_tokens: int = 0, *, skip_reads: bool = False
) -> CacheRequest:
    ids = np.array([*prompt, *range(known_output_tokens)], dtype=np.int32)
    return CacheRequest(block_hashes(ids, BLOCK_SIZE), len(prompt), output_tokens, skip_reads)


prompts = st.lists(st.integers(0, 1), min_size=1, max_size=13)
requests = st.builds(
    request,
    prompts,
    st.integers(0, 7),
    st.integers(0, 7),
    skip_reads=st.integers(0, 5).map(lambda value: value == 0),
)
streams = st.lists(requests, min_size=1, max_size=40)
# With a part-block at the end of each request no block is ever computed twice.
no_twins = st.lists(
    st.builds(
        request,
        prompts.map(lambda prompt: prompt[: len(prompt) - 1 + len(prompt) % 2]).filter(bool),
        st.sampled_from([0, 1, 3, 5]),
    ),
    min_size=1,
    max_size=40,
)


def brute_force_distances(stream: list[CacheRequest], ignore_output: bool) -> list[int]:
    """Blocks a cache needs for each re-use to hit: its place in a list, newest first, and the part-block."""
    stack: list[object] = []
    distances = []
    part_block = 0
    for each in stream:
        tokens = each.prompt_tokens if ignore_output else each.computed_tokens()
        stored = each.blocks[: tokens // BLOCK_SIZE].tolist()
        asked = [] if each.skip_reads else stored[: (each.prompt_tokens - 1) // BLOCK_SIZE]
        for block in asked:
            if block not in stack:
                break
            distances.append(stack.index(block) + 1 + part_block)
        unknown = [object() for _ in range(tokens // BLOCK_SIZE - len(stored))]
        stack = stored + unknown + [block for block in stack if block not in stored]
        part_block = int(tokens % BLOCK_SIZE > 0)
    return distances


@given(streams, st.booleans())
def test_following_every_block_is_the_stack(stream: list[CacheRequest], ignore_output: bool) -> None:
    distances = brute_force_distances(stream, ignore_output)
    capacities = list(range(1, 80))
    curve = sampled_lru_curve(
        intern_requests(stream, BLOCK_SIZE), capacities, rate=1, ignore_output=ignore_output
    )
    expected = [sum(distance <= capacity for distance in distances) for capacity in capacities]
    assert [point.hit_tokens // BLOCK_SIZE for point in curve.points] == expected
    assert {point.error for point in curve.points} == {0}


@given(no_twins)
def test_following_every_block_is_the_kernel_where_there_are_no_twins(stream: list[CacheRequest]) -> None:
    trace = intern_requests(stream, BLOCK_SIZE)
    largest = max(-(-each.computed_tokens() // BLOCK_SIZE) for each in stream)
    capacities = list(range(largest, largest + 40))
    curve = sampled_lru_curve(trace, capacities, rate=1)
    for point in curve.points:
        run = run_kernel(trace, policy="lru", capacity_blocks=point.capacity_blocks)
        assert point.hit_tokens == run.hit_blocks.sum() * BLOCK_SIZE


@given(streams, st.booleans(), st.sampled_from([0.01, 0.3, 1.0]))
def test_the_ceiling_is_exact_at_any_rate(
    stream: list[CacheRequest], ignore_output: bool, rate: float
) -> None:
    trace = intern_requests(stream, BLOCK_SIZE)
    curve = sampled_lru_curve(trace, [10**6], rate=rate, ignore_output=ignore_output)
    ceiling = unbounded_hit_blocks(trace, ignore_output=ignore_output).sum() * BLOCK_SIZE
    assert curve.ceiling_hit_tokens == ceiling
    assert curve.points[0].hit_tokens <= ceiling


def conversations(sessions: int, seed: int) -> DenseTrace:
    """Conversations of ten turns on average that all begin alike, interleaved, in blocks of 16."""
    rng = np.random.default_rng(seed)
    system = rng.integers(0, 50_000, 200)
    histories = [system] * sessions
    stream = []
    for _ in range(10 * sessions):
        session = int(rng.integers(0, sessions) * rng.random())  # some talk more than others
        added = rng.integers(0, 50_000, int(rng.integers(20, 600)))
        histories[session] = np.concatenate([histories[session], added])
        hashes = block_hashes(histories[session].astype(np.int32), 16)
        stream.append(CacheRequest(hashes, len(histories[session]), int(rng.integers(0, 60))))
        if len(histories[session]) > 8000:
            histories[session] = system
    return intern_requests(stream, 16)


@pytest.fixture(scope="module")
def busy() -> DenseTrace:
    return conversations(120, 0)


def test_a_sample_errs_little_and_says_how_much(busy: DenseTrace) -> None:
    capacities = capacity_grid(busy)
    exact = np.array([point.hit_rate for point in sampled_lru_curve(busy, capacities, rate=1).points])
    within, largest = [], []
    for seed in range(20):
        curve = sampled_lru_curve(busy, capacities, rate=0.03, seed=seed)
        assert curve.followed_blocks <= 0.03 * busy.distinct_blocks + 1
        found = np.abs([point.hit_rate for point in curve.points] - exact)
        stated = np.array([point.error for point in curve.points])
        within.append((found <= stated + 1e-12).mean())
        largest.append(found.max())
        assert stated.max() < 0.1  # a bar that spans everything would be no statement
    assert np.mean(within) > 0.9
    assert np.median(largest) < 0.02


def test_a_higher_rate_errs_less_and_claims_less(busy: DenseTrace) -> None:
    capacities = capacity_grid(busy)
    exact = np.array([point.hit_rate for point in sampled_lru_curve(busy, capacities, rate=1).points])

    def errors(rate: float) -> tuple[float, float]:
        curves = [sampled_lru_curve(busy, capacities, rate=rate, seed=seed) for seed in range(8)]
        found = [np.abs([point.hit_rate for point in curve.points] - exact).max() for curve in curves]
        stated = [max(point.error for point in curve.points) for curve in curves]
        return float(np.mean(found)), float(np.mean(stated))

    few, many = errors(0.025), errors(0.25)
    assert many[0] < few[0] / 2
    assert many[1] < few[1] / 2


@pytest.mark.parametrize("rate", [1e-9, 1e-6, 0.001])
def test_no_rate_follows_fewer_blocks_than_tell_their_error(busy: DenseTrace, rate: float) -> None:
    capacities = capacity_grid(busy)
    exact = np.array([point.hit_rate for point in sampled_lru_curve(busy, capacities, rate=1).points])
    curve = sampled_lru_curve(busy, capacities, rate=rate)
    assert curve == sampled_lru_curve(busy, capacities, rate=500 / busy.distinct_blocks)
    assert curve.rate == 500 / busy.distinct_blocks
    found = np.abs([point.hit_rate for point in curve.points] - exact)
    assert (found <= np.array([point.error for point in curve.points]) + 1e-12).mean() > 0.9


def test_hits_only_rise_with_capacity(busy: DenseTrace) -> None:
    points = sampled_lru_curve(busy, range(600, 60_000, 97)).points
    rates = [point.hit_rate for point in points]
    assert rates == sorted(rates)


def test_the_same_seed_gives_the_same_bytes_and_another_one_another_sample(busy: DenseTrace) -> None:
    capacities = capacity_grid(busy)
    first, again, other = (sampled_lru_curve(busy, capacities, seed=seed) for seed in (3, 3, 4))
    assert msgspec.json.encode(first) == msgspec.json.encode(again)
    assert first.points != other.points


def test_capacities_come_back_in_order_each_once(busy: DenseTrace) -> None:
    curve = sampled_lru_curve(busy, [5000, 800, 5000])
    assert [point.capacity_blocks for point in curve.points] == [800, 5000]


@pytest.mark.parametrize("rate", [0, -0.1, 1.5, float("nan")])
def test_a_rate_that_is_none_is_refused(busy: DenseTrace, rate: float) -> None:
    with pytest.raises(InputError, match="not above 0 and at most 1"):
        sampled_lru_curve(busy, [1000], rate=rate)


def test_a_capacity_that_is_none_is_refused(busy: DenseTrace) -> None:
    with pytest.raises(InputError, match="capacity of 0 blocks"):
        sampled_lru_curve(busy, [1000, 0])


def test_a_trace_without_reuse_hits_nothing() -> None:
    trace = intern_requests([request([0] * 9), request([1] * 9)], BLOCK_SIZE)
    curve = sampled_lru_curve(trace, [100])
    assert (curve.ceiling_hit_tokens, curve.followed_blocks, curve.points[0].hit_tokens) == (0, 0, 0)


def test_no_request_is_no_hit() -> None:
    curve = sampled_lru_curve(intern_requests([], BLOCK_SIZE), [100])
    assert (curve.query_tokens, curve.points[0].hit_rate) == (0, 0)


def test_one_percent_of_the_conversation_trace_is_within_half_a_point(shared) -> None:
    path = shared / "data" / "mooncake" / "conversation_trace.jsonl.gz"
    assert_within_half_a_point(load_trace(str(path), TraceOptions()).dense)


@pytest.mark.long
def test_one_percent_of_the_agent_sessions_is_within_half_a_point(shared) -> None:
    path = shared / "data" / "agent_sessions" / "claude_code_sessions.jsonl.gz"
    assert_within_half_a_point(load_trace(str(path), TraceOptions()).dense)


def assert_within_half_a_point(trace: DenseTrace) -> None:
    errors = errors_of(trace, seeds=10)
    assert max(errors.largest) <= 0.5
    assert np.mean(errors.largest) <= 0.25  # lost if picks go by time, or distances are not scaled
