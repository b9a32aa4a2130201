"""Where the tests of the readers find a good file of each format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keepwarm.trace.readers import FORMATS
from keepwarm.trace.records import Request

OWN_SAMPLES = Path(__file__).parent / "own_samples"  # of formats that the labelled cases lack
CASE_FORMATS = tuple(name for name in FORMATS if name != "agent-sessions")
JSON_LINES = tuple(
    name for name in CASE_FORMATS if name not in ("sharegpt", "swe-agent-traj", "vllm-debug-log")
)
SAME_TEXT = ("anthropic-messages", "langfuse", "litellm", "openai-batch", "openai-responses", "otel-genai")


def sample(shared: Path, name: str, tmp_path: Path) -> Path:
    """A file of the format: from the labelled cases, or a small one of our own."""
    if name == "agent-sessions":
        path = tmp_path / "sessions.jsonl"
        path.write_text(agent_session("s-1") + agent_session("s-2"), encoding="utf-8")
        return path
    for folder in (OWN_SAMPLES, shared / "cases" / "formats"):
        for path in sorted(folder.glob(f"{name}.*")):
            if not path.name.endswith(".expect.json"):
                return path
    pytest.fail(f"no sample of {name!r}: add {name}.jsonl and {name}.expect.json to {OWN_SAMPLES}")


def agent_session(session: str) -> str:
    """One line: two calls of the session, and a subagent with one between them."""
    entries = [
        {"t": 0.0, "type": "n", "model": "big", "in": 130, "out": 5, "hash_ids": [1, 2], "api_time": 1.5},
        {
            "t": 10.0,
            "type": "subagent",
            "agent_id": "agent_001",
            "requests": [{"t": 2.0, "type": "n", "model": "small", "in": 70, "out": 3, "hash_ids": [9]}],
        },
        {"t": 20.0, "type": "s", "model": "big", "in": 200, "out": 7, "hash_ids": [1, 2, 3], "ttft": 0.5},
    ]
    record = {"id": session, "block_size": 64, "hash_id_scope": "local", "requests": entries}
    return json.dumps(record) + "\n"


def sessions_by_prefix(requests: list[Request]) -> int:
    """Sessions that follow from one prompt being the beginning of a later one."""
    latest: list[object] = []
    for request in requests:
        prompt: str | list[object] = (
            request.prompt_text if request.prompt_text is not None else list(request.messages)
        )
        for index, earlier in enumerate(latest):
            if prompt[: len(earlier)] == earlier:  # type: ignore[arg-type]
                latest[index] = prompt
                break
        else:
            latest.append(prompt)
    return len(latest)
