"""Curves are replays: every point, the ceiling, and the sizes found by search."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.cache.ceiling import Ceiling
from keepwarm.cache.curve import PolicyCurve, hit_rate_curve
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.intern import intern_requests
from keepwarm.cache.model import CacheModel, capacity_grid
from keepwarm.cache.replay import CacheRequest, policy_for, replay
from keepwarm.trace.hashes import block_hashes

BLOCK_SIZE = 2


def request(prompt: list[int], output_tokens: int = 0, *, skip_reads: bool = False) -> CacheRequest:
    ids = np.array(prompt, dtype=np.int32)
    return CacheRequest(block_hashes(ids, BLOCK_SIZE), len(prompt), output_tokens, skip_reads)


requests = st.builds(
    request,
    st.lists(st.integers(0, 1), max_size=13),
    st.integers(0, 7),
    skip_reads=st.integers(0, 5).map(lambda value: value == 0),
)
streams = st.lists(requests, min_size=1, max_size=40)


@given(
    streams,
    st.sampled_from(["lru", "sieve", "belady"]),
    st.lists(st.integers(7, 60), min_size=1, max_size=6),
    st.booleans(),
    st.sampled_from([1, 2]),
)
def test_points_and_ceiling_are_replays(
    stream: list[CacheRequest], policy: str, capacities: list[int], ignore_output: bool, unit_blocks: int
) -> None:
    model = CacheModel(intern_requests(stream, BLOCK_SIZE), ignore_output, unit_blocks)
    curve = hit_rate_curve(model, [policy], capacities_blocks=capacities, threads=1)
    if ignore_output:
        stream = [each._replace(output_tokens=0) for each in stream]

    def hit_tokens(capacity: int | None) -> int:
        order = policy_for(policy, stream, block_size=BLOCK_SIZE, capacity_blocks=capacity or 1)
        rules = {"block_size": BLOCK_SIZE, "match_unit_blocks": unit_blocks, "policy": order}
        return sum(row.hit_tokens for row in replay(stream, capacity_blocks=capacity, **rules))

    points = curve.policies[0].points
    assert [point.capacity_blocks for point in points] == sorted(set(capacities))
    assert [point.hit_tokens for point in points] == [hit_tokens(each.capacity_blocks) for each in points]
    assert curve.ceiling.hit_tokens == hit_tokens(None)
    query_tokens = sum(each.prompt_tokens for each in stream)
    assert curve.ceiling.query_tokens == query_tokens
    assert points[0].hit_rate == (points[0].hit_tokens / query_tokens if query_tokens else 0)


@given(streams, st.sampled_from(["lru", "sieve"]))
@settings(max_examples=50)
def test_sizes_reach_their_share_and_one_block_less_does_not(stream: list[CacheRequest], policy: str) -> None:
    model = CacheModel(intern_requests(stream, BLOCK_SIZE))
    curve = hit_rate_curve(model, [policy], threads=1)
    points = curve.policies[0].points
    for size in curve.policies[0].sizes:

        def reached(capacity: int, percent: int = size.percent_of_ceiling) -> bool:
            hit_tokens = model.hit_blocks(policy, capacity) * BLOCK_SIZE
            return 0 < percent * curve.ceiling.hit_tokens <= 100 * hit_tokens

        if size.capacity_blocks is None:
            assert not any(reached(point.capacity_blocks) for point in points)
            continue
        assert reached(size.capacity_blocks)
        if size.capacity_blocks > points[0].capacity_blocks:
            assert not reached(size.capacity_blocks - 1)
            assert not any(
                reached(point.capacity_blocks)
                for point in points
                if point.capacity_blocks < size.capacity_blocks
            )


class Staircase(NamedTuple):
    """A model whose hits are told: ``hits[capacity]``."""

    trace: DenseTrace
    hits: list[int]
    ignore_output: bool = False
    bounded: None = None

    def hit_blocks(self, policy: str, capacity_blocks: int) -> int:
        return self.hits[capacity_blocks]

    def ceiling_blocks(self) -> int:
        return 100

    def ceiling(self) -> Ceiling:
        return Ceiling(query_tokens=400, hit_tokens=100 * BLOCK_SIZE, hit_rate=100 * BLOCK_SIZE / 400)


def sizes_of(hits: list[int], capacities: list[int]) -> list[int | None]:
    trace = intern_requests([request([0] * 400)], BLOCK_SIZE)
    curve = hit_rate_curve(Staircase(trace, hits), ["lru"], capacities_blocks=capacities)
    return [size.capacity_blocks for size in curve.policies[0].sizes]


@given(
    st.lists(st.integers(0, 100), min_size=3, max_size=60).map(sorted),
    st.lists(st.integers(1, 58), max_size=5),
)
def test_sizes_are_the_smallest_where_hits_only_rise(hits: list[int], inner: list[int]) -> None:
    capacities = sorted({0, len(hits) - 1, *(each for each in inner if each < len(hits))} - {0}) or [1]
    expected = [
        next((size for size in range(capacities[0], capacities[-1] + 1) if hits[size] >= goal), None)
        for goal in (90, 95, 99)
    ]
    assert sizes_of(hits, capacities) == expected


def test_where_hits_fall_again_the_size_is_before_the_first_point_that_gets_them() -> None:
    hits = [0, 0, 96, 0, 0, 92, 92, 0, 100, 100]
    assert sizes_of(hits, [1, 3, 6, 9]) == [5, 8, 8]


def test_a_share_that_no_point_gets_has_no_size() -> None:
    assert sizes_of([0, 10, 91, 94, 94], [1, 4]) == [2, None, None]


def test_a_search_takes_few_replays() -> None:
    calls = []

    class Counted(Staircase):
        def hit_blocks(self, policy: str, capacity_blocks: int) -> int:
            calls.append(capacity_blocks)
            return super().hit_blocks(policy, capacity_blocks)

    trace = intern_requests([request([0] * 400)], BLOCK_SIZE)
    hits = [capacity // 100_000 for capacity in range(10_000_001)]
    curve = hit_rate_curve(Counted(trace, hits), ["lru"], capacities_blocks=[1, 10_000_000])
    assert [size.capacity_blocks for size in curve.policies[0].sizes] == [9_000_000, 9_500_000, 9_900_000]
    assert len(calls) < 2 + 3 * 50  # at worst twice what halving takes


@given(streams, st.integers(2, 40), st.booleans(), st.integers(1, 2))
def test_the_grid_goes_from_the_largest_prompt_to_where_nothing_is_evicted(
    stream: list[CacheRequest], points: int, ignore_output: bool, unit: int
) -> None:
    trace = intern_requests(stream, BLOCK_SIZE)
    model = CacheModel(trace, ignore_output, unit)
    grid = capacity_grid(trace, points=points, ignore_output=ignore_output, match_unit_blocks=unit)
    assert grid == sorted(set(grid))
    assert len(grid) <= points
    assert grid[0] == max(1, *(-(-each.prompt_tokens // BLOCK_SIZE) for each in stream))
    run = model.replay("lru", grid[-1])
    assert not run.too_large.any()
    assert not run.evicted_blocks.any()  # twins have room, too
    assert int(run.hit_blocks.sum()) == model.ceiling_blocks()


@pytest.fixture(scope="module")
def looping() -> DenseTrace:
    """Prompts of 60 blocks in turn: LRU has all or nothing, so its curve is one step."""
    rng = np.random.default_rng(0)
    prompts = rng.integers(0, 1000, (20, 2 * 60 + 1)).tolist()
    return intern_requests([request(prompt) for _ in range(5) for prompt in prompts], BLOCK_SIZE)


def test_steep_gaps_are_halved(looping: DenseTrace) -> None:
    grid = capacity_grid(looping)
    points = hit_rate_curve(CacheModel(looping), ["lru"]).policies[0].points
    capacities = [point.capacity_blocks for point in points]
    assert set(grid) < set(capacities)
    assert len(capacities) <= 1.5 * len(grid)
    steepest = max(pairwise(points), key=lambda pair: pair[1].hit_rate - pair[0].hit_rate)
    widest = max(high / low for low, high in pairwise(grid))
    assert steepest[1].capacity_blocks / steepest[0].capacity_blocks < widest**0.5


def test_all_there_is_reaches_the_ceiling_and_the_optimum_is_nowhere_worse(looping: DenseTrace) -> None:
    curve = hit_rate_curve(CacheModel(looping), ["lru", "sieve", "belady"])
    best = {point.capacity_blocks: point.hit_tokens for point in policy_of(curve.policies, "belady").points}
    for policy in curve.policies:
        assert policy.points[-1].hit_tokens == curve.ceiling.hit_tokens
        assert all(point.hit_tokens <= best[point.capacity_blocks] for point in policy.points)


def policy_of(policies: tuple[PolicyCurve, ...], name: str) -> PolicyCurve:
    return next(policy for policy in policies if policy.policy == name)


def test_threads_change_nothing(looping: DenseTrace) -> None:
    one, three = (
        hit_rate_curve(CacheModel(looping), ["lru", "sieve"], threads=threads) for threads in (1, 3)
    )
    assert msgspec.json.encode(one) == msgspec.json.encode(three)


def test_a_curve_survives_json(looping: DenseTrace) -> None:
    curve = hit_rate_curve(CacheModel(looping), ["lru"])
    assert msgspec.json.decode(msgspec.json.encode(curve), type=type(curve)) == curve


def test_a_trace_without_requests_has_no_curve() -> None:
    with pytest.raises(InputError, match="no request"):
        hit_rate_curve(CacheModel(intern_requests([], BLOCK_SIZE)), ["lru"])


def test_an_unknown_policy_is_refused(looping: DenseTrace) -> None:
    with pytest.raises(InputError, match="unknown policy 'mru'"):
        hit_rate_curve(CacheModel(looping), ["mru"])
