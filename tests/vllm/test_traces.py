"""Recorded traffic through both sides: nothing may differ."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from keepwarm.serving.base import ServerConfig
from tests.vllm.lockstep import Lockstep
from tests.vllm.traces import hash_only, helpdesk, play

HELPDESK = Path(__file__).resolve().parents[2] / "examples" / "helpdesk" / "traffic.jsonl.gz"


def server(block_size: int, capacity_blocks: int, *, step_tokens: int = 2048, running: int = 64) -> Lockstep:
    tokens = capacity_blocks * block_size
    return Lockstep(ServerConfig(block_size, capacity_blocks, tokens, running, step_tokens))


@pytest.mark.parametrize(
    ("block_size", "capacity_blocks", "step_s"),
    [(16, 250, 60.0), (16, 500, 20.0), (32, 127, 600.0), (64, 64, 5.0)],
)
def test_helpdesk_traffic(block_size: int, capacity_blocks: int, step_s: float, totals: Counter[str]) -> None:
    both = play(server(block_size, capacity_blocks, step_tokens=512), helpdesk(HELPDESK), step_s=step_s)
    totals.update(both.counts)
    assert both.counts["requests"] == both.counts["finished"] == 227
    assert both.counts["evictions"] > 100
    assert both.counts["hit tokens"] > 10_000


def test_mooncake_conversations(shared: Path, totals: Counter[str]) -> None:
    arrivals = hash_only(shared / "data/mooncake/conversation_trace.jsonl.gz", block_size=16)
    both = play(server(16, 3000), arrivals, step_s=0.2)
    totals.update(both.counts)
    assert both.counts["requests"] == both.counts["finished"] == 12_031
    assert both.counts["evictions"] > 100_000
    assert both.counts["hit tokens"] > 100_000


def test_agent_sessions(shared: Path, totals: Counter[str]) -> None:
    arrivals = hash_only(shared / "data/agent_sessions/claude_code_sessions.jsonl.gz", block_size=8, most=300)
    both = play(server(8, 3000, step_tokens=8192), arrivals, step_s=5.0)
    totals.update(both.counts)
    assert both.counts["requests"] > 250
    assert both.counts["evictions"] > 1000
    assert both.counts["hit tokens"] > 100_000


@pytest.mark.long
def test_all_agent_sessions(shared: Path, totals: Counter[str]) -> None:
    arrivals = hash_only(shared / "data/agent_sessions/claude_code_sessions.jsonl.gz", block_size=4)
    both = play(server(4, 12_000, step_tokens=8192), arrivals, step_s=5.0)
    totals.update(both.counts)
    assert both.counts["requests"] == both.counts["finished"] == 8930
    assert both.counts["evictions"] > 10_000
