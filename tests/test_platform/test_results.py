"""`make demo` and the results it leaves for the dashboard; the browser that the dashboard is tested in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from keepwarm.evidence.verify import verify_folder
from keepwarm.guard.verdict import digest_holds
from scripts import results
from scripts.loop.desk import EXAMPLE

REPOSITORY = Path(__file__).resolve().parents[2]
KEEPWARM = Path(sys.executable).parent / "keepwarm"


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    # Relative, as the Makefile says it.
    return Path(os.path.relpath(tmp_path_factory.mktemp("demo") / "out", REPOSITORY))


@pytest.fixture(scope="module")
def printed(out):
    """What the demo prints; `out` is then full."""
    demo = [REPOSITORY / "scripts" / "demo.sh", KEEPWARM, "examples/helpdesk/traffic.jsonl.gz", out]
    done = subprocess.run(demo, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def made(printed, out):
    return REPOSITORY / out


def document(path):
    return json.loads(path.read_bytes())


def test_the_demo_ends_with_the_command_that_opens_its_results(printed, out):
    assert printed.splitlines()[-1].strip() == f"{KEEPWARM} serve {out}"


def test_the_diagnosis_is_of_the_committed_traffic(made):
    diagnosis = document(made / "diagnosis.json")
    assert diagnosis["input"]["path"] == "examples/helpdesk/traffic.jsonl.gz"
    assert diagnosis["input"]["requests"] == 227


def test_one_changed_answer_waits_for_an_approval_and_nothing_else_is_wrong(made):
    verdict = document(made / "repair" / "verdict" / "verdict.json")
    assert digest_holds(verdict)
    assert verdict["outcome"] == "needs-approval"
    outcomes = {answer["check"]: answer["outcome"] for answer in verdict["answers"]}
    assert [check for check, outcome in outcomes.items() if outcome != "pass"] == ["golden-cases"]
    (problem,) = next(
        answer["problems"] for answer in verdict["answers"] if answer["check"] == "golden-cases"
    )
    assert problem["approvable_sha256"]
    case = document(made / "repair" / "golden" / f"{problem['where']}.json")
    assert "changed by hand" in case["about"]


def test_the_repair_is_for_the_diagnosed_requests(made):
    task = document(made / "repair" / "task.json")
    assert task["trace_sha256"] == document(made / "diagnosis.json")["input"]["sha256"]


def test_the_evidence_is_as_committed_and_its_manifests_hold(made):
    committed = sorted(path.relative_to(EXAMPLE / "evidence") for path in EXAMPLE.rglob("evidence/**/*.*"))
    assert committed
    for path in committed:
        assert (made / "loop" / path).read_bytes() == (EXAMPLE / "evidence" / path).read_bytes()
    for manifest in made.glob("loop/replays/*/*/manifest.json"):
        assert verify_folder(manifest.parent).mismatches == ()


def test_the_canary_is_the_committed_one(made):
    assert (made / "canary" / "canary.json").read_bytes() == (
        REPOSITORY / "bench" / "canary" / "canary.json"
    ).read_bytes()


def test_the_curve_has_all_policies_as_recorded_and_if_fixed(made):
    simulated = document(made / "cache" / "cache.json")
    assert {row["policy"] for row in simulated["rows"]} == {"lru", "computecache", "belady"}
    assert simulated["if_fixed"]["ceiling"]["hit_rate"] > simulated["ceiling"]["hit_rate"]
    assert simulated["server"]["usable_blocks"] in {row["capacity_blocks"] for row in simulated["rows"]}


def test_a_timeline_for_each_queue_order_and_eviction(made):
    timelines = [document(path) for path in sorted(made.glob("serving/timelines/*.json"))]
    ran = {(timeline["scheduling"], timeline["eviction"]) for timeline in timelines}
    assert ran == {(order, eviction) for order in ("fcfs", "active-set") for eviction in ("lru", "cachewise")}
    rows = document(made / "serving" / "serving.json")["rows"]
    assert {(row["scheduling"], row["eviction"]) for row in rows} == ran


def files_of(folder):
    """Without what holds times: git's index, and what the project's tests printed."""
    found = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {
        name: path.read_bytes()
        for name, path in found.items()
        if ".git" not in name.parts and name.name != "project-tests.txt"
    }


@pytest.mark.long
def test_the_same_bytes_again(made, tmp_path):
    assert results.main([str(tmp_path / "again")]) == 0
    first, again = files_of(made), files_of(tmp_path / "again")
    assert first.keys() == again.keys()
    assert [name for name in first if first[name] != again[name]] == []


def test_a_folder_of_something_else_is_left_alone(tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("mine", encoding="utf-8")
    assert results.main([str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "no folder of results; name another folder" in said
    assert said.count("\n") == 1
    assert (tmp_path / "letter.txt").read_text(encoding="utf-8") == "mine"


def test_a_command_that_fails_is_named_in_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(results, "TRAFFIC", Path("examples/helpdesk/README.md"))
    assert results.main([str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "keepwarm diagnose examples/helpdesk/README.md ended with exit code 2" in said
    assert said.count("\n") == 1


SHOWS_THE_PAGE = "echo '<html><body><p>keep<b>warm</b></p></body></html>'"


def set_up_chromium(tmp_path, **programs):
    """Run the script with nothing on the PATH but what it needs, and stand-ins for `programs`."""
    path = tmp_path / "path"
    path.mkdir()
    for tool in ("bash", "dirname", "env", "grep", "ln", "mkdir", "mktemp", "rm", "tail", "timeout", "touch"):
        found = shutil.which(tool)
        assert found is not None
        (path / tool).symlink_to(found)
    for name, script in programs.items():
        (path / name).write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
        (path / name).chmod(0o755)
    return subprocess.run(
        [REPOSITORY / "scripts" / "make_chromium.sh", tmp_path / "chromium"],
        env={"PATH": str(path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )


def test_a_chromium_that_shows_a_page_is_taken(tmp_path):
    done = set_up_chromium(tmp_path, chromium=SHOWS_THE_PAGE)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "chromium" / ".stamp").is_file()
    assert (tmp_path / "chromium" / "bin" / "chromium").resolve() == tmp_path / "path" / "chromium"


def test_a_chromium_that_shows_nothing_is_refused(tmp_path):
    done = set_up_chromium(tmp_path, chromium="exit 0")
    assert done.returncode == 2
    assert "does not show a page" in done.stderr
    assert not (tmp_path / "chromium" / ".stamp").exists()


def test_without_chromium_and_without_root_it_says_what_to_install(tmp_path):
    done = set_up_chromium(tmp_path, id="echo 1000")
    assert done.returncode == 2
    assert "apt-get install -y chromium" in done.stderr
    assert done.stderr.count("\n") == 1
