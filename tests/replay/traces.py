"""Small traces for replays: a desk whose rules are the same in every request."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RULES = " ".join(f"rule{number}" for number in range(40))
TOOL = {
    "type": "function",
    "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}},
}


def chat(number: int, system: str, **more: Any) -> dict[str, Any]:
    """A recorded line; three requests make a session."""
    body = {
        "model": "recorded",
        "max_tokens": 3,
        "temperature": 0.7,
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": f"question {number}"},
        ],
    }
    return {
        "id": f"r{number}",
        "timestamp": 1_000 + number * 0.02,
        "session_id": f"s{number // 3}",
        "body": {**body, **more},
    }


def broken(requests: int = 12) -> list[dict[str, Any]]:
    """A counter stands before the rules: nothing is shared."""
    return [chat(number, f"request {number} {RULES}") for number in range(requests)]


def repaired(requests: int = 12) -> list[dict[str, Any]]:
    """The counter stands behind them."""
    return [chat(number, f"{RULES} request {number}") for number in range(requests)]


def write(path: Path, lines: Iterable[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)
