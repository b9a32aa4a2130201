"""Nothing that the labelled cases plant may be read in what a gate writes, prints or commits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepwarm._json import to_json
from keepwarm.diagnose.options import Options
from keepwarm.gate import Verdict, check_trace
from keepwarm.gate.baseline import Baseline, write_baseline
from keepwarm.gate.prefixes import RecordedRequests, check_requests, update_snapshot
from keepwarm.gate.report.document import check_document
from keepwarm.gate.report.sarif import sarif_document
from keepwarm.gate.report.summary import render_summary
from keepwarm.gate.report.terminal import render_check
from tests.gate.conftest import keep
from tests.repair.test_canaries import leaked, planted

TRACES = ("coding-agent", "support-desk")


def outputs(verdict: Verdict, trace: Path) -> Iterator[str]:
    yield "; ".join(verdict.refusals)
    yield render_check(verdict, width=2000, colour=False)
    yield render_summary(verdict)
    yield to_json(check_document(verdict, Path("baseline.json"))).decode()
    yield to_json(sarif_document(verdict, trace)).decode()


def emptied(kept: Baseline) -> Baseline:
    """A baseline in which everything of now is new or worse."""
    import msgspec

    sites = tuple(msgspec.structs.replace(site, hit_rate=1.0) for site in kept.call_sites)
    return msgspec.structs.replace(kept, call_sites=sites, findings=())


@pytest.mark.parametrize("name", TRACES)
def test_a_check(shared: Path, tmp_path: Path, name: str) -> None:
    trace, path = shared / "cases" / "secrets" / f"{name}.jsonl", tmp_path / "baseline.json"
    kept = keep(str(trace), path)
    assert leaked(path.read_text(), planted(trace)) == []
    write_baseline(path, emptied(kept))
    verdict = check_trace(str(trace), Options(), path)
    assert verdict.refusals
    for output in outputs(verdict, trace):
        assert leaked(output, planted(trace)) == []


@pytest.mark.parametrize("name", TRACES)
def test_a_test_whose_prefix_moved(shared: Path, tmp_path: Path, name: str) -> None:
    trace, path = shared / "cases" / "secrets" / f"{name}.jsonl", tmp_path / "snapshot.json"
    bodies = [json.loads(line)["body"] for line in trace.read_text().splitlines()][:6]
    update_snapshot(recorded(bodies), path, Options())
    assert leaked(path.read_text(), planted(trace)) == []
    for at in range(40, 4000, 360):
        told = check_requests(recorded([changed(body, at) for body in bodies]), path, Options(), "snapshot")
        assert told is not None
        assert "where   messages[0].content, in tokens " in told
        assert leaked(told, planted(trace)) == []


def recorded(bodies: list[dict[str, Any]]) -> RecordedRequests:
    requests = RecordedRequests()
    for body in bodies:
        requests.record(body)
    return requests


def changed(body: dict[str, Any], at: int) -> dict[str, Any]:
    """The body with a few letters put into its system text, or where that is shorter at its end."""
    first, *rest = body["messages"]
    content = first["content"]
    return {**body, "messages": [{**first, "content": f"{content[:at]}xyzzy{content[at:]}"}, *rest]}
