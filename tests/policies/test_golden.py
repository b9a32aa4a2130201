"""Hit tokens of every policy on a small committed trace, exact: a change of any rule shows here."""

from __future__ import annotations

import functools
import os

import msgspec
import numpy as np
import pytest

from keepwarm.cache.intern import intern_requests
from keepwarm.cache.kernels import run_kernel
from keepwarm.cache.replay import CacheRequest, policy_for, replay
from keepwarm.policies import POLICIES
from tests.policies.golden.make import BLOCK_SIZE, HERE, Recorded, make, text_of

CAPACITIES_BLOCKS = (80, 128, 192, 256, 384, 768)
UPDATE = os.environ.get("KEEPWARM_UPDATE_GOLDEN") == "1"
TITLE = f"hit tokens of trace.json, blocks of {BLOCK_SIZE} tokens, by capacity in blocks"


@functools.cache
def trace() -> list[CacheRequest]:
    recorded = msgspec.json.decode((HERE / "trace.json").read_bytes(), type=list[Recorded])
    return [
        CacheRequest(np.array(each["ids"], dtype=np.uint64), each["prompt_tokens"], each["output_tokens"])
        for each in recorded
    ]


@functools.cache
def hit_tokens(policy: str) -> tuple[int, ...]:
    return tuple(hit_tokens_at(policy, capacity_blocks) for capacity_blocks in CAPACITIES_BLOCKS)


def hit_tokens_at(policy: str, capacity_blocks: int) -> int:
    made = policy_for(policy, trace(), block_size=BLOCK_SIZE, capacity_blocks=capacity_blocks)
    rows = replay(trace(), block_size=BLOCK_SIZE, capacity_blocks=capacity_blocks, policy=made)
    return sum(row.hit_tokens for row in rows)


def ceiling_tokens() -> int:
    return sum(row.hit_tokens for row in replay(trace(), block_size=BLOCK_SIZE, capacity_blocks=None))


def table() -> str:
    rows = [("capacity", CAPACITIES_BLOCKS), *((policy, hit_tokens(policy)) for policy in POLICIES)]
    rows.append(("(no limit)", (ceiling_tokens(),) * len(CAPACITIES_BLOCKS)))
    lines = [f"{name:20}" + "".join(f"{value:8}" for value in values) for name, values in rows]
    return "\n".join([TITLE, "", *lines]) + "\n"


def test_the_hits_are_the_golden_ones() -> None:
    golden = HERE / "hits.txt"
    if UPDATE:
        golden.write_text(table(), encoding="utf-8")
    assert table() == golden.read_text(encoding="utf-8"), (
        "KEEPWARM_UPDATE_GOLDEN=1 rewrites it; read the change"
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_the_kernel_hits_the_same(policy: str) -> None:
    dense = intern_requests(trace(), BLOCK_SIZE)
    runs = (run_kernel(dense, policy=policy, capacity_blocks=capacity) for capacity in CAPACITIES_BLOCKS)
    assert tuple(int(run.hit_blocks.sum()) * BLOCK_SIZE for run in runs) == hit_tokens(policy)


def test_no_two_policies_are_alike_and_none_beats_belady() -> None:
    for at in range(len(CAPACITIES_BLOCKS)):
        of_policies = [hit_tokens(policy)[at] for policy in POLICIES]
        assert len(set(of_policies)) == len(POLICIES)
        assert max(of_policies) == hit_tokens("belady")[at]


def test_the_trace_is_the_one_that_the_script_makes() -> None:
    kept = (HERE / "trace.json").read_text(encoding="utf-8")
    assert kept == text_of(make()), "python -m tests.policies.golden.make rewrites it"
