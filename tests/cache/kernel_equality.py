"""A kernel and the reference side by side: the same trace, and no event that differs."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import NamedTuple

import numpy as np

from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.intern import intern_requests
from keepwarm.cache.kernels import run_kernel
from keepwarm.cache.replay import CacheRequest, ReplayRow, asked_blocks, policy_for, replay


class Rules(NamedTuple):
    capacity_blocks: int
    match_unit_blocks: int = 1
    ignore_output: bool = False


def requests_of(trace: DenseTrace, stop: int | None = None) -> list[CacheRequest]:
    """The first requests of a trace, dense ids for hashes."""
    return [
        CacheRequest(trace.ids[start:end].astype(np.uint64), prompt_tokens, output_tokens, skip_reads)
        for start, end, prompt_tokens, output_tokens, skip_reads in zip(
            trace.starts[:-1].tolist(),
            trace.starts[1:].tolist(),
            trace.prompt_tokens.tolist(),
            trace.output_tokens.tolist(),
            trace.skip_reads.tolist(),
            strict=True,
        )
    ][:stop]


def assert_equal(
    stream: list[CacheRequest], block_size: int, policy: str, rules: Rules, **parameters: object
) -> list[ReplayRow]:
    """Replay both ways and compare; ``parameters`` are the policy's own. Returns what happened."""
    trace = intern_requests(stream, block_size)
    run = run_kernel(
        trace, policy=policy, record_events=True, check_integrity=True, **rules._asdict(), **parameters
    )
    rows = reference_rows(stream, block_size, policy, rules, **parameters)
    dense_id: dict[int, int] = {}
    for each, start, stop in zip(stream, trace.starts[:-1], trace.starts[1:], strict=True):
        dense_id.update(zip(each.blocks.tolist(), trace.ids[start:stop].tolist(), strict=False))
    assert run.hit_blocks.tolist() == [row.hit_tokens // block_size for row in rows]
    assert run.too_large.tolist() == [row.too_large for row in rows]
    assert run.evicted_blocks.tolist() == [row.evicted_blocks for row in rows]
    assert run.requested_again_blocks.tolist() == [row.requested_again_blocks for row in rows]
    assert run.reuse_gaps_log2.tolist() == gaps_log2(stream, rows, block_size, rules)
    assert run.evicted_ids is not None
    assert run.evicted_ids.tolist() == [dense_id.get(each, each) for row in rows for each in row.evicted]
    return rows


def reference_rows(
    stream: list[CacheRequest], block_size: int, policy: str, rules: Rules, **parameters: object
) -> list[ReplayRow]:
    made = policy_for(
        policy,
        stream,
        block_size=block_size,
        capacity_blocks=rules.capacity_blocks,
        ignore_output=rules.ignore_output,
    )
    # A last request that never fits keeps the reference from answering without a pool.
    giant = CacheRequest(np.empty(0, dtype=np.uint64), 10**15)
    rows = replay(
        [*stream, giant], block_size=block_size, policy=partial(made, **parameters), **rules._asdict()
    )
    return rows[:-1]


def gaps_log2(stream: list[CacheRequest], rows: list[ReplayRow], block_size: int, rules: Rules) -> list[int]:
    """Blocks handed out from an eviction to the next look-up of what was lost, counted by powers of two."""
    counts = [0] * 64
    lost: dict[int, int] = {}  # when the last copy was evicted
    copies: Counter[int] = Counter()
    time = 0
    for each, row in zip(stream, rows, strict=True):
        if row.too_large:
            continue
        again = [block for block in asked_blocks(each, block_size).tolist() if block in lost]
        assert len(again) == row.requested_again_blocks
        for block in again:
            counts[(time - lost[block]).bit_length() - 1] += 1
        tokens = each.prompt_tokens if rules.ignore_output else each.computed_tokens()
        tokens = min(tokens, rules.capacity_blocks * block_size)
        time += -(-tokens // block_size) - row.hit_tokens // block_size
        for evicted_at, block in enumerate(row.evicted, time - row.evicted_blocks):
            copies[block] -= 1
            if not copies[block]:
                lost[block] = evicted_at
        stored = each.blocks[: tokens // block_size].tolist()
        for block in stored:
            lost.pop(block, None)
        copies.update(stored[row.hit_tokens // block_size :])
    return counts
