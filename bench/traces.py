"""The real traces that benches run on."""

from __future__ import annotations

import os
from pathlib import Path

from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.load import load_trace
from keepwarm.cache.options import TraceOptions

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("KEEPWARM_SHARED", REPOSITORY.parent / "shared"))
AGENT_SESSIONS = SHARED / "data" / "agent_sessions" / "claude_code_sessions.jsonl.gz"
TOOL_DURATIONS = SHARED / "data" / "tool_durations" / "terminal_bench_steps.csv"
CONVERSATION = SHARED / "data" / "mooncake" / "conversation_trace.jsonl.gz"


def agent_sessions() -> DenseTrace:
    """120 coding-agent sessions, blocks of 64 tokens, merged by time."""
    return dense(AGENT_SESSIONS)


def conversation() -> DenseTrace:
    """Mooncake's production chat requests, blocks of 512 tokens."""
    return dense(CONVERSATION)


def dense(path: Path) -> DenseTrace:
    """Any trace, read anew."""
    return load_trace(str(path), TraceOptions()).dense
