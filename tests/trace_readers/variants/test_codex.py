"""Rollouts of Codex: forms that the labelled files do not show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from keepwarm.trace.records import Usage
from tests.trace_readers.reading import read


def codex(line_type: str, payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-05-20T10:00:00.000Z", "type": line_type, "payload": payload}


def codex_message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return codex(
        "response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    )


def test_codex_compaction_parallel_calls_and_late_usage(tmp_path: Path) -> None:
    usage = {"last_token_usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 2}}
    calls = [{"type": "function_call", "call_id": c, "name": "look", "arguments": "{}"} for c in "ab"]
    outputs = [{"type": "function_call_output", "call_id": c, "output": c} for c in "ab"]
    requests, skipped = read(
        tmp_path,
        codex("session_meta", {"id": "s", "base_instructions": {"text": "be brief"}}),
        codex("turn_context", {"model": "m"}),
        codex_message("developer", "rules"),
        codex_message("user", "hello"),
        codex("response_item", {"type": "reasoning", "summary": [], "encrypted_content": "x"}),
        *(codex("response_item", call) for call in calls),
        *(codex("response_item", output) for output in outputs),
        codex("event_msg", {"type": "token_count", "info": usage}),
        codex_message("assistant", "done"),
        codex("event_msg", {"type": "token_count", "info": None}),
        codex("compacted", {"message": "what happened"}),
        codex_message("user", "more"),
        codex_message("assistant", "fine"),
        expect="codex-rollout",
    )
    assert skipped == ()
    roles = [[message["role"] for message in request.messages] for request in requests]
    assert roles == [
        ["system", "developer", "user"],
        ["system", "developer", "user", "assistant", "tool", "tool"],
        ["system", "user", "user"],
    ]
    assert requests[0].usage == Usage(prompt_tokens=10, output_tokens=2, cached_tokens=4)
    assert requests[1].usage == Usage()
    assert [request.model for request in requests] == ["m", "m", "m"]
    assert requests[2].messages[1]["content"] == "what happened"
