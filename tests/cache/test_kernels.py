"""The compiled kernels do what the reference pool and the policy classes do, event for event."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.intern import intern_requests
from keepwarm.cache.kernels import kernel_policies, run_kernel
from keepwarm.cache.load import load_trace
from keepwarm.cache.options import TraceOptions
from keepwarm.cache.replay import CacheRequest
from keepwarm.policies import POLICIES
from keepwarm.trace.hashes import block_hashes
from tests.cache.kernel_equality import Rules, assert_equal, requests_of

BLOCK_SIZE = 2
HELPDESK = Path(__file__).resolve().parents[2] / "examples" / "helpdesk" / "traffic.jsonl.gz"


def request(
    prompt: list[int], output_tokens: int = 0, known_output_tokens: int = 0, *, skip_reads: bool = False
) -> CacheRequest:
    ids = np.array([*prompt, *range(known_output_tokens)], dtype=np.int32)
    return CacheRequest(block_hashes(ids, BLOCK_SIZE), len(prompt), output_tokens, skip_reads)


requests = st.builds(
    request,
    st.lists(st.integers(0, 1), max_size=13),
    st.integers(0, 7),
    st.integers(0, 7),
    skip_reads=st.integers(0, 5).map(lambda value: value == 0),
)
streams = st.lists(requests, min_size=1, max_size=40)
rules = st.builds(
    Rules,
    st.integers(1, 14),
    st.sampled_from([1, 1, 1, 2, 3]),
    st.integers(0, 4).map(lambda value: value == 0),
)


@pytest.mark.parametrize("policy", kernel_policies())
@settings(max_examples=300)
@given(stream=streams, rules=rules)
def test_every_event_is_the_reference_s(policy: str, stream: list[CacheRequest], rules: Rules) -> None:
    assert_equal(stream, BLOCK_SIZE, policy, rules)


PARAMETERS = {
    "computecache-window": {"mode": st.sampled_from(["active", "lru"]), "scan_limit": st.integers(1, 8)},
    "computecache": {
        "protected_share": st.sampled_from([0.0, 0.25, 0.5, 1.0]),
        "stale_turnovers": st.sampled_from([0.5, 1.0, 3.0, inf]),
        "least_stale_blocks": st.sampled_from([0, 8, 40]),
        "scan_limit": st.integers(1, 8),
        "extra_demotions": st.sampled_from([0, 1, 3, 64]),
        "hits_decay": st.booleans(),
    },
}


@pytest.mark.parametrize("policy", PARAMETERS)
@given(data=st.data(), stream=streams, rules=rules)
def test_every_event_is_the_reference_s_for_any_parameters(
    policy: str, data: st.DataObject, stream: list[CacheRequest], rules: Rules
) -> None:
    parameters = data.draw(st.fixed_dictionaries(PARAMETERS[policy]))
    assert_equal(stream, BLOCK_SIZE, policy, rules, **parameters)


@cache
def traffic(path: Path) -> DenseTrace:
    return load_trace(str(path), TraceOptions()).dense


@pytest.mark.parametrize("policy", kernel_policies())
@pytest.mark.parametrize(("match_unit_blocks", "ignore_output"), [(1, False), (4, True)])
def test_on_traffic_with_texts(policy: str, match_unit_blocks: int, ignore_output: bool) -> None:
    trace = traffic(HELPDESK)
    rules = Rules(500, match_unit_blocks, ignore_output)
    rows = assert_equal(requests_of(trace), trace.block_size, policy, rules)
    assert sum(row.hit_tokens for row in rows) > 0
    assert sum(row.evicted_blocks for row in rows) > 5_000


@pytest.mark.parametrize("policy", kernel_policies())
def test_on_agent_sessions(policy: str, shared: Path) -> None:
    trace = traffic(shared / "data" / "agent_sessions" / "claude_code_sessions.jsonl.gz")
    stream = requests_of(trace, 100)
    rows = assert_equal(stream, trace.block_size, policy, Rules(max(len(each.blocks) for each in stream) + 1))
    assert sum(row.evicted_blocks for row in rows) > 10_000


@pytest.mark.parametrize("policy", kernel_policies())
def test_on_production_chats(policy: str, shared: Path) -> None:
    trace = traffic(shared / "data" / "mooncake" / "conversation_trace.jsonl.gz")
    rows = assert_equal(requests_of(trace, 400), trace.block_size, policy, Rules(300))
    assert sum(row.evicted_blocks for row in rows) > 5_000


def test_every_policy_has_a_kernel() -> None:
    assert sorted(kernel_policies()) == sorted(POLICIES)


def test_no_kernel_hits_more_than_belady_s(shared: Path) -> None:
    trace = traffic(shared / "data" / "mooncake" / "synthetic_trace.jsonl.gz")
    for capacity_blocks in (1_000, 10_000):
        runs = {
            policy: run_kernel(trace, policy=policy, capacity_blocks=capacity_blocks, check_integrity=False)
            for policy in kernel_policies()
        }
        hits = {policy: int(run.hit_blocks.sum()) for policy, run in runs.items()}
        assert max(hits.values()) == hits["belady"]
        assert sorted(hits.values())[-2] < hits["belady"]


def test_runs_in_threads_are_the_same_runs() -> None:
    trace = traffic(HELPDESK)
    capacities_blocks = [300, 400, 600, 1_000] * 4

    def hits(capacity_blocks: int) -> list[int]:
        run = run_kernel(trace, policy="lru", capacity_blocks=capacity_blocks)
        return run.hit_blocks.tolist()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(hits, capacities_blocks)) == [hits(each) for each in capacities_blocks]


def test_a_huge_capacity_costs_nothing() -> None:
    trace = intern_requests([request([1, 2, 3])] * 2, BLOCK_SIZE)
    run = run_kernel(trace, policy="lru", capacity_blocks=10**15)
    assert run.hit_blocks.tolist() == [0, 1]
    assert run.evicted_ids is None


def test_nothing_to_replay() -> None:
    for stream in ([], [request([])] * 2):
        run = run_kernel(intern_requests(stream, BLOCK_SIZE), policy="lru", capacity_blocks=1)
        assert run.hit_blocks.tolist() == [0] * len(stream)


def test_bad_arguments_are_named() -> None:
    trace = intern_requests([request([1, 2, 3])], BLOCK_SIZE)
    with pytest.raises(InputError, match=r"unknown policy 'mru'; known are lru, .*belady"):
        run_kernel(trace, policy="mru", capacity_blocks=5)
    with pytest.raises(InputError, match="capacity of 0 blocks"):
        run_kernel(trace, policy="lru", capacity_blocks=0)
    with pytest.raises(InputError, match="match unit of 0 blocks"):
        run_kernel(trace, policy="lru", capacity_blocks=5, match_unit_blocks=0)
    with pytest.raises(InputError, match="block size 0"):
        intern_requests([], 0)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("protected_share", 1.01),
        ("protected_share", nan),
        ("stale_turnovers", -1.0),
        ("stale_turnovers", nan),
        ("least_stale_blocks", -1),
        ("scan_limit", 0),  # the kernel would read beyond its window
        ("extra_demotions", -1),
    ],
)
def test_a_kernel_refuses_the_parameters_that_the_class_refuses(parameter: str, value: float) -> None:
    trace = intern_requests([request([1, 2, 3])], BLOCK_SIZE)
    with pytest.raises(ValueError, match=f"{parameter} {value}: "):
        run_kernel(trace, policy="computecache", capacity_blocks=5, **{parameter: value})
