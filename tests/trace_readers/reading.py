"""Traces of a few records, read as any trace is, and what most of them hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from keepwarm.trace.open import open_trace
from keepwarm.trace.records import Request, Skipped

USER = {"role": "user", "content": "hello"}

SYSTEM = {"role": "system", "content": "be brief"}

TOOL = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}


def read(tmp_path: Path, *records: Any, expect: str) -> tuple[list[Request], tuple[Skipped, ...]]:
    path = tmp_path / "trace"
    lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    trace = open_trace(path)
    requests = list(trace.requests())
    assert trace.format == expect
    return requests, trace.skipped


def one(tmp_path: Path, record: Any, expect: str) -> Request:
    (request,), skipped = read(tmp_path, record, expect=expect)
    assert skipped == ()
    return request
