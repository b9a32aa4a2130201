"""A recording of vLLM's own events, read back and compared with a replay of the same calls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from keepwarm.cache.kv_events import read_kv_events
from keepwarm.cache.recorded import compare_events, compare_hits
from keepwarm.cache.replay import replay


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
def test_a_recording_and_a_replay_agree_to_the_block(tmp_path: Path) -> None:
    from tests.vllm.recording import BLOCK_SIZE, CAPACITY_BLOCKS, calls, record  # warns on import

    served = calls(seed=3)
    hit_tokens = record(served, tmp_path / "events.jsonl")
    rows = replay(
        [call.cache_request() for call in served], block_size=BLOCK_SIZE, capacity_blocks=CAPACITY_BLOCKS
    )
    simulated = np.array([row.hit_tokens for row in rows])

    hits = compare_hits(np.array(hit_tokens), simulated)
    assert hits.equal_requests == len(served)

    events = read_kv_events(tmp_path / "events.jsonl")
    full_blocks = sum(call.cache_request().computed_tokens() // BLOCK_SIZE for call in served)
    compared = compare_events(
        events,
        stored_blocks=full_blocks - int(simulated.sum()) // BLOCK_SIZE,
        evicted_blocks=sum(row.evicted_blocks for row in rows),
        block_size=BLOCK_SIZE,
    )
    assert compared.stored_residual_blocks == compared.evicted_residual_blocks == 0
    assert events.removed_blocks > 10 * CAPACITY_BLOCKS
    assert events.peak_resident_blocks == CAPACITY_BLOCKS
    assert (events.clears, events.unseen_removed_blocks, events.skipped_events) == (1, 0, 0)
