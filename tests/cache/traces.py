"""Small trace files, written out by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def write_lines(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def hashed(ids: Sequence[int], tokens: int | None = None, output: int = 0, **more: Any) -> dict[str, Any]:
    """A request of block ids; blocks of four tokens, all of them full unless told."""
    return {
        "timestamp": 0,
        "input_length": 4 * len(ids) if tokens is None else tokens,
        "output_length": output,
        "hash_ids": list(ids),
        "block_size": 4,
        **more,
    }


def chat(
    text: str, *, engine: dict[str, Any] | None = None, cached_tokens: int | None = None, **body: Any
) -> dict[str, Any]:
    """A request of one message."""
    record: dict[str, Any] = {
        "timestamp": 1.0,
        "body": {"model": "m", "messages": [{"role": "user", "content": text}], **body},
    }
    if engine is not None:
        record["engine"] = engine
    if cached_tokens is not None:
        usage = {
            "prompt_tokens": 1,
            "completion_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": cached_tokens},
        }
        record["response"] = {
            "choices": [{"message": {"role": "assistant", "content": "ok"}}],
            "usage": usage,
        }
    return record


THREE = (hashed([1, 2, 3]), hashed([4, 5, 6]), hashed([1, 2, 3]))
"""Two prompts, and the first again: under LRU with four blocks only its first block is still there."""
