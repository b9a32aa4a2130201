"""Small traces with two call sites, of which one can be told to break."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TRIAGE = " ".join(
    f"Sort the message into category {n} if it is about topic {n} of the desk." for n in range(14)
)
LETTERS = " ".join(f"Letters of kind {n} open with greeting {n} and close with thanks." for n in range(14))
TOOL = {"type": "function", "function": {"name": "find_letter", "parameters": {"type": "object"}}}


def triage(number: int, *, clock: bool = False, text: str = TRIAGE, **around: Any) -> dict[str, Any]:
    """A request of the first call site; with ``clock`` it opens with the time."""
    opening = f"It is 2026-05-12 09:{number:02}:{7 * number % 60:02}. " if clock else ""
    return _request(number, opening + text, f"Message {number}: my printer is on fire again.", around)


def letter(number: int, *, text: str = LETTERS, **around: Any) -> dict[str, Any]:
    """A request of the second call site."""
    return _request(100 + number, text, f"Write letter {number} to the tax office.", around, tools=[TOOL])


def _request(number: int, system: str, question: str, around: dict[str, Any], **body: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return {
        "id": f"r{number}",
        "timestamp": 1778576400.0 + 60 * number,
        "session_id": f"s{number}",
        **around,
        "body": {"model": "m", "messages": messages, **body},
    }


def write(path: Path, requests: Sequence[dict[str, Any]]) -> str:
    """A trace of these requests."""
    path.write_text("".join(json.dumps(request) + "\n" for request in requests))
    return str(path)


def healthy(path: Path, *, requests: int = 12) -> str:
    """Both call sites as they should be."""
    return write(path, [*map(triage, range(requests)), *map(letter, range(requests))])


def broken(path: Path, *, requests: int = 12) -> str:
    """The first call site with the time in front."""
    return write(path, [*(triage(n, clock=True) for n in range(requests)), *map(letter, range(requests))])
