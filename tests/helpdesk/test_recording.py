from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

if TYPE_CHECKING:
    from pathlib import Path


class Message(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    content: str | None
    tool_calls: list[dict[str, Any]] = []
    tool_call_id: str | None = None


class Body(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    messages: list[Message]
    tools: list[dict[str, Any]] = []
    temperature: float | None = None
    max_tokens: int | None = None
    response_format: dict[str, str] | None = None


class Response(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    object: str
    created: int
    model: str
    choices: list[dict[str, Any]]
    usage: dict[str, int]


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """All a record may hold: a field that names the call site would make the diagnosis too easy."""

    id: str
    timestamp: float
    session_id: str
    body: Body
    response: Response


def record(example: Path, out: Path, *arguments: str, hash_seed: str = "random") -> bytes:
    subprocess.run(
        [sys.executable, "-m", "helpdesk.record", "--out", str(out), *arguments],
        cwd=example,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        check=True,
        capture_output=True,
    )
    return out.read_bytes()


def test_a_recording_gives_the_committed_lines_whatever_the_hash_seed(traffic_file, tmp_path):
    first = record(traffic_file.parent, tmp_path / "a.jsonl.gz", hash_seed="1")
    second = record(traffic_file.parent, tmp_path / "b.jsonl.gz", hash_seed="2")
    assert first == second
    # Compressed bytes differ between zlib builds, the lines may not.
    assert gzip.decompress(first) == gzip.decompress(traffic_file.read_bytes())


def test_the_file_header_holds_no_time(traffic_file):
    assert traffic_file.read_bytes()[4:8] == b"\0\0\0\0"
    assert traffic_file.stat().st_size < 1_500_000


def test_another_seed_gives_another_day(traffic_file, tmp_path):
    other = record(traffic_file.parent, tmp_path / "day.jsonl", "--seed", "8")
    assert other.count(b"\n") > 120
    assert other != gzip.decompress(traffic_file.read_bytes())


def test_an_unreachable_upstream_is_one_line_and_exit_2(traffic_file, tmp_path):
    out = tmp_path / "day.jsonl"
    for upstream in ("http://127.0.0.1:9/v1", "file:///etc"):
        ended = subprocess.run(
            [sys.executable, "-m", "helpdesk.record", "--out", str(out), "--upstream", upstream],
            cwd=traffic_file.parent,
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 2
        assert ended.stderr.startswith("helpdesk: ")
        assert ended.stderr.count("\n") == 1
        assert not out.exists()


def test_every_line_is_a_plain_openai_chat_record(traffic_file):
    lines = gzip.decompress(traffic_file.read_bytes()).splitlines()
    decoder = msgspec.json.Decoder(Line)
    records = [decoder.decode(line) for line in lines]
    assert len({entry.id for entry in records}) == len(records)
    for entry in records:
        assert entry.body.messages[0].role == "system"
        assert entry.response.usage.keys() == {"prompt_tokens", "completion_tokens", "total_tokens"}
        assert entry.response.created >= int(entry.timestamp)


def test_a_busy_day_of_several_customers_and_interleaved_tickets(traffic):
    assert len(traffic) >= 160
    times = [entry["timestamp"] for entry in traffic]
    assert times == sorted(times)
    spans = defaultdict(list)
    for position, entry in enumerate(traffic):
        spans[entry["session_id"]].append(position)
    assert len(spans) >= 20
    interrupted = [span for span in spans.values() if span[-1] - span[0] >= len(span)]
    assert len(interrupted) >= len(spans) // 2


@pytest.mark.parametrize(
    ("name", "requests"), [("triage", 50), ("articles", 20), ("resolve", 60), ("reply", 50)]
)
def test_each_call_site_is_busy_and_its_prompts_are_long(by_call_site, name, requests):
    entries = by_call_site[name]
    assert len(entries) >= requests
    sizes = [entry["response"]["usage"]["prompt_tokens"] for entry in entries]
    assert min(sizes) >= 600
    assert max(sizes) <= 3000
