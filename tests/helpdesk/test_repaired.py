"""The repaired twin: what is committed is what the patches make, and it says the same things."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter

import pytest

from keepwarm.guard.golden import holds, read_golden
from scripts.loop.chosen import call_site
from scripts.loop.generate import generate

REPAIRED = "traffic.repaired.jsonl.gz"


@pytest.fixture(scope="session")
def repaired(traffic_file):
    lines = gzip.decompress(traffic_file.with_name(REPAIRED).read_bytes()).splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="session")
def golden(traffic_file):
    return read_golden(traffic_file.with_name("golden")).cases


def test_what_is_committed_is_what_the_patches_make(traffic_file, tmp_path):
    generate(tmp_path)
    example = traffic_file.parent
    made, kept = (gzip.decompress((folder / REPAIRED).read_bytes()) for folder in (tmp_path, example))
    assert made == kept
    made_cases, kept_cases = (
        {path.name: path.read_text(encoding="utf-8") for path in (folder / "golden").iterdir()}
        for folder in (tmp_path, example)
    )
    assert made_cases == kept_cases


def test_both_days_are_the_same_requests_with_the_same_answers(traffic, repaired):
    assert len(traffic) == len(repaired)
    for before, after in zip(traffic, repaired, strict=True):
        for key in ("id", "session_id", "timestamp"):
            assert after[key] == before[key]
        assert after["response"]["choices"] == before["response"]["choices"]


def test_each_prompt_holds_the_same_lines_in_the_same_roles(traffic, repaired):
    for before, after in zip(traffic, repaired, strict=True):
        assert lines_by_role(after) == lines_by_role(before)
        rest = {key: value for key, value in before["body"].items() if key not in ("messages", "tools")}
        assert rest.items() <= after["body"].items()
        assert after["body"].keys() == before["body"].keys()


def lines_by_role(record):
    lines = Counter()
    for message in record["body"]["messages"]:
        text = message["content"] or ""
        lines.update((message["role"], line) for line in re.split(r"\n+|(?<=\.) ", text) if line)
        lines.update((message["role"], json.dumps(call)) for call in message.get("tool_calls", []))
    lines.update(("tools", json.dumps(tool)) for tool in record["body"].get("tools", []))
    return lines


def test_tools_come_in_one_order(repaired):
    orders = {
        tuple(tool["function"]["name"] for tool in record["body"]["tools"])
        for record in repaired
        if "tools" in record["body"]
    }
    assert len(orders) == 1


def test_golden_cases_cover_every_call_site_and_hold_before_and_after(golden):
    sites = Counter(case.about.partition(":")[0] for case in golden)
    assert sites.keys() == {"triage", "articles", "resolve", "reply"}
    assert len(golden) >= 24
    assert min(sites.values()) >= 6
    for case in golden:
        assert case.assertions
        for output in (*case.before, *case.after):
            assert all(holds(assertion, output) for assertion in case.assertions), case.case


def test_whom_the_desk_may_speak_to_is_a_golden_case(golden):
    case = next(case for case in golden if case.case == "reply-authorisation")
    assert "with you alone" in case.before[0].content


def test_call_sites_are_told_apart_after_the_repair_too(traffic, repaired):
    assert [call_site(record) for record in repaired] == [call_site(record) for record in traffic]
