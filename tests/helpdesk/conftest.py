from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "helpdesk"
sys.path.insert(0, str(EXAMPLE))  # the example is run from its folder, not installed

Record = dict[str, Any]

# Words of the stable part of each prompt; the recording itself must not name the call sites.
_MARKS = {
    "triage": "You sort the messages",
    "articles": "You prepare answers to how-to questions",
    "resolve": "You work on cases in the back office",
    "reply": "You write letters to customers",
}


def call_site(record: Record) -> str:
    system = record["body"]["messages"][0]["content"]
    (name,) = [name for name, mark in _MARKS.items() if mark in system]
    return name


@pytest.fixture(scope="session")
def traffic_file() -> Path:
    return EXAMPLE / "traffic.jsonl.gz"


@pytest.fixture(scope="session")
def traffic(traffic_file: Path) -> list[Record]:
    return [json.loads(line) for line in gzip.decompress(traffic_file.read_bytes()).splitlines()]


@pytest.fixture(scope="session")
def by_call_site(traffic: list[Record]) -> dict[str, list[Record]]:
    sites: dict[str, list[Record]] = {name: [] for name in _MARKS}
    for record in traffic:
        sites[call_site(record)].append(record)
    return sites
