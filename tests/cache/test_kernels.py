"""The compiled kernels do what the reference pool and the policy classes do, event for event."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.cache.intern import intern_requests
from keepwarm.cache.kernels import kernel_policies, run_kernel
from keepwarm.cache.replay import CacheRequest, policy_for, replay
from keepwarm.trace.hashes import block_hashes

BLOCK_SIZE = 2


class Rules(NamedTuple):
    capacity_blocks: int
    match_unit_blocks: int = 1
    ignore_output: bool = False


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


def assert_equal(
    stream: list[CacheRequest], block_size: int, policy: str, rules: Rules, **parameters: object
) -> None:
    """Both replays, and the same events; ``parameters`` are the policy's own."""
    trace = intern_requests(stream, block_size)
    run = run_kernel(
        trace, policy=policy, record_events=True, check_integrity=True, **rules._asdict(), **parameters
    )
    # A last request that never fits keeps the reference from answering without a pool.
    giant = CacheRequest(np.empty(0, dtype=np.uint64), (trace.starts[-1] + 10) * 10 * block_size + 10**9)
    make_policy = policy_for(
        policy,
        stream,
        block_size=block_size,
        capacity_blocks=rules.capacity_blocks,
        ignore_output=rules.ignore_output,
    )
    rows = replay(
        [*stream, giant],
        block_size=block_size,
        policy=partial(make_policy, **parameters),
        **rules._asdict(),
    )[:-1]
    dense_id = {}
    for each, start, stop in zip(stream, trace.starts[:-1], trace.starts[1:], strict=True):
        dense_id.update(zip(each.blocks.tolist(), trace.ids[start:stop].tolist(), strict=False))
    assert run.hit_blocks.tolist() == [row.hit_tokens // block_size for row in rows]
    assert run.too_large.tolist() == [row.too_large for row in rows]
    assert run.evicted_blocks.tolist() == [row.evicted_blocks for row in rows]
    assert run.requested_again_blocks.tolist() == [row.requested_again_blocks for row in rows]
    assert run.reuse_gaps_log2.sum() == run.requested_again_blocks.sum()
    assert run.evicted_ids is not None
    assert run.evicted_ids.tolist() == [dense_id.get(each, each) for row in rows for each in row.evicted]


@pytest.mark.parametrize("policy", kernel_policies())
@given(stream=streams, rules=rules)
def test_every_event_is_the_reference_s(policy: str, stream: list[CacheRequest], rules: Rules) -> None:
    assert_equal(stream, BLOCK_SIZE, policy, rules)


PARAMETERS = {
    "computecache-window": {"mode": st.sampled_from(["active", "lru"]), "scan_limit": st.integers(1, 8)},
    "computecache": {
        "protected_share": st.sampled_from([0.0, 0.25, 0.5, 1.0]),
        "stale_turnovers": st.sampled_from([0.5, 1.0, 3.0, inf]),
        "scan_limit": st.integers(1, 8),
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
