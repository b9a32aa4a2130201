"""Small traces of sessions, written out by hand, and the real ones read without our readers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.durations.base import ToolDuration
from keepwarm.workload.base import SessionTrace, Trigger, Turn, Workload

Json = dict[str, Any]


def entry(t: float, ids: list[int], *, tokens: int | None = None, out: int = 2, **more: Any) -> Json:
    """A request of a session with blocks of four tokens, all of them full unless told."""
    length = 4 * len(ids) if tokens is None else tokens
    return {"t": t, "type": "n", "model": "m", "in": length, "out": out, "hash_ids": ids, **more}


def session(name: str, *entries: Json, **more: Any) -> Json:
    return {"id": name, "block_size": 4, "hash_id_scope": "local", "requests": list(entries), **more}


def of_gaps(*sessions: list[tuple[Trigger, float]]) -> Workload:
    """Sessions of which only triggers and gaps matter."""
    return Workload(
        4,
        tuple(
            SessionTrace(
                SessionId(f"s-{number}"),
                0.0,
                (Turn(4, 1, (), 0.0, Trigger.HUMAN), *(Turn(4, 1, (), gap, who) for who, gap in gaps)),
            )
            for number, gaps in enumerate(sessions)
        ),
    )


def duration(command: str, seconds: float, task: str = "a", *, cut_off: bool = False) -> ToolDuration:
    return ToolDuration(ToolCall("bash", command), seconds, task, cut_off)


def agent_sessions(shared: Path) -> Path:
    return shared / "data" / "agent_sessions" / "claude_code_sessions.jsonl.gz"


def mooncake(shared: Path) -> Path:
    return shared / "data" / "mooncake" / "conversation_trace.jsonl.gz"


def tool_durations(shared: Path) -> Path:
    return shared / "data" / "tool_durations" / "terminal_bench_steps.csv"


def raw_loops(shared: Path) -> dict[str, list[Json]]:
    """Requests of each session, subagents as sessions of their own, as they are in the file."""
    loops: dict[str, list[Json]] = {}
    with gzip.open(agent_sessions(shared), "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            for item in record["requests"]:
                if item["type"] == "subagent":
                    loops[f"{record['id']}/{item['agent_id']}"] = item["requests"]
                else:
                    loops.setdefault(record["id"], []).append(item)
    return loops
