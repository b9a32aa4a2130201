"""The properties that SARIF 2.1.0 requires, and what code scanning makes of it.

No package of ours ships the official JSON schema; what is checked here is what it requires of what we write.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from keepwarm.diagnose.findings import Owner
from keepwarm.gate.report.sarif import sarif_document
from keepwarm.gate.verdict import Verdict
from keepwarm.repair.task import Location, Preserve, ReuseTarget, ShownBreak, Task, TaskFinding
from tests.gate.conftest import Compare
from tests.gate.traces import broken, healthy


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, below which paths are relative."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(compare: Compare, folder: Path) -> Verdict:
    return compare(healthy(folder / "a.jsonl"), broken(folder / "b.jsonl"))


def task(verdict: Verdict, **changes: Any) -> Task:
    """A task about the clock of ``verdict``, located in two places."""
    (finding,) = verdict.diagnosis.findings
    about = TaskFinding(
        id=finding.id,
        cause=finding.cause,
        owner=Owner.APP,
        call_site=finding.call_site,
        path=finding.path,
        slot_type=finding.slot_type,
        requests=1,
        recoverable_tokens=1,
        suggestion="",
        call_site_name=next(s.name for s in verdict.diagnosis.call_sites if s.id == finding.call_site),
    )
    places = [("app/a b.py", 3, 4, 0.4), ("app/prompts.py", 10, 12, 0.9)]
    return msgspec.structs.replace(
        Task(
            id="t",
            trace_sha256=verdict.diagnosis.input.sha256,
            base_commit=None,
            finding=about,
            shown=ShownBreak(before="", values=(), after=""),
            locations=tuple(
                Location(file=f, first_line=a, last_line=b, confidence=c, why="") for f, a, b, c in places
            ),
            not_located=None,
            allowed_files=(),
            moves_allowed=True,
            declared=(),
            preserve=Preserve(
                static_fragments=0, static_fragment_sha256=(), dynamic_paths=(), tools=(), roles=()
            ),
            target=ReuseTarget(hit_rate_before=0.0, hit_rate_repaired=0.0, hit_rate_required=0.0),
            verify=(),
            placeholders={},
        ),
        **changes,
    )


def run_of(document: dict[str, Any]) -> dict[str, Any]:
    """The one run, after what the schema requires of the document was checked."""
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "keepwarm"
    codes = [rule["id"] for rule in driver["rules"]]
    assert len(set(codes)) == len(codes)
    for rule in driver["rules"]:
        assert rule["help"]["text"]
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")
    for result in run["results"]:
        assert result["message"]["text"]
        assert codes[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("note", "warning", "error")
        assert result["baselineState"] in ("new", "unchanged")
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
        for place in [*result["locations"], *result.get("relatedLocations", [])]:
            region = place["physicalLocation"]["region"]
            assert 1 <= region["startLine"] <= region["endLine"]
            assert " " not in place["physicalLocation"]["artifactLocation"]["uri"]
    json.dumps(document, allow_nan=False)
    return dict(run)


def uris(places: list[dict[str, Any]]) -> list[str]:
    return [place["physicalLocation"]["artifactLocation"]["uri"] for place in places]


def test_what_is_new_is_an_error_in_the_trace(refused: Verdict, folder: Path) -> None:
    run = run_of(sarif_document(refused, folder / "b.jsonl"))
    clock, rate = run["results"]
    assert (clock["ruleId"], clock["level"], clock["baselineState"]) == ("clock", "error", "new")
    assert (rate["ruleId"], rate["level"]) == ("hit-rate", "error")
    assert uris(clock["locations"]) == ["b.jsonl"]
    request = refused.diagnosis.findings[0].evidence.request
    line = clock["locations"][0]["physicalLocation"]["region"]["startLine"]
    recorded = json.loads((folder / "b.jsonl").read_text().splitlines()[line - 1])
    assert recorded["id"] == request
    assert "09:" not in json.dumps(run)


def test_what_was_there_is_a_warning(compare: Compare, folder: Path) -> None:
    trace = broken(folder / "b.jsonl")
    (result,) = run_of(sarif_document(compare(trace, trace), Path(trace)))["results"]
    assert (result["level"], result["baselineState"]) == ("warning", "unchanged")


def test_fingerprints_outlive_other_traffic(compare: Compare, folder: Path) -> None:
    first = compare(healthy(folder / "a.jsonl"), broken(folder / "b.jsonl"))
    second = compare(healthy(folder / "a.jsonl"), broken(folder / "c.jsonl", requests=9))
    prints = [
        [
            result["partialFingerprints"]
            for result in run_of(sarif_document(verdict, folder / name))["results"]
        ]
        for verdict, name in ((first, "b.jsonl"), (second, "c.jsonl"))
    ]
    # The shorter recording also lowers the other call site's rate, which has a fingerprint of its own.
    assert prints[0] == prints[1][:2]
    assert len({str(found) for found in prints[1]}) == len(prints[1]) == 3


def test_a_task_says_where_the_text_is_built(refused: Verdict, folder: Path) -> None:
    clock, _ = run_of(sarif_document(refused, folder / "b.jsonl", [task(refused)]))["results"]
    assert uris(clock["locations"]) == ["app/prompts.py"]
    assert clock["locations"][0]["physicalLocation"]["region"] == {"startLine": 10, "endLine": 12}
    assert uris(clock["relatedLocations"]) == ["app/a%20b.py", "b.jsonl"]


@pytest.mark.parametrize(("sha256", "name", "is_used"), [("0", None, True), ("0", "other", False)])
def test_a_task_of_another_trace_is_recognised_by_the_name(
    refused: Verdict, folder: Path, sha256: str, name: str | None, is_used: bool
) -> None:
    about = task(refused)
    if name is not None:
        about = msgspec.structs.replace(
            about, finding=msgspec.structs.replace(about.finding, call_site_name=name, call_site="site-9")
        )
    about = msgspec.structs.replace(about, trace_sha256=sha256)
    clock, _ = run_of(sarif_document(refused, folder / "b.jsonl", [about]))["results"]
    assert (uris(clock["locations"]) == ["app/prompts.py"]) is is_used


def test_a_trace_elsewhere_has_an_absolute_address(refused: Verdict, folder: Path) -> None:
    run = run_of(sarif_document(refused, folder.parent / "b c.jsonl"))
    assert uris(run["results"][0]["locations"])[0] == (folder.parent / "b c.jsonl").as_uri()
