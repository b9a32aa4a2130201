"""The loop without a server: simulation, tasks, verdicts on repairs and on planted bad fixes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from scripts.loop.__main__ import all_as_expected, main, run
from scripts.loop.desk import BAD_FIXES, EXAMPLE, REPAIRS


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    # Relative, as one types it.
    return Path(os.path.relpath(tmp_path_factory.mktemp("loop") / "out"))


@pytest.fixture(scope="module")
def rounds(out):
    return run(out, None)


def read(path):
    return json.loads(path.read_bytes())


def test_the_findings_are_those_of_the_readme_most_recoverable_first(rounds):
    assert [done.cause for done in rounds] == ["tool-order", "clock", "retrieved-context", "identity"]
    recoverable = [done.recoverable_tokens for done in rounds]
    assert recoverable == sorted(recoverable, reverse=True)


def test_each_repair_passes_every_check(rounds, out):
    assert [done.repair.fix for done in rounds] == [patch.stem for patch in REPAIRS]
    for number, done in enumerate(rounds, start=1):
        assert (done.repair.outcome, done.repair.refusing) == ("pass", ())
        answers = read(out / f"round-{number}" / "repair" / "verdict.json")["answers"]
        assert len(answers) == 6


def test_each_planted_bad_fix_is_refused_by_the_check_that_has_to_see_it(rounds):
    catcher = read(EXAMPLE / "bad_fixes" / "caught_by.json")
    assert catcher.keys() == {patch.stem for patch in BAD_FIXES}
    refused = {done.bad_fix.fix: done.bad_fix for done in rounds}
    for fix, check in catcher.items():
        assert refused[fix].outcome == "fail"
        assert check in refused[fix].refusing
    assert all_as_expected(rounds)


def test_no_bad_fix_is_seen_by_the_projects_own_tests(rounds):
    assert all("project-tests" not in done.bad_fix.refusing for done in rounds)


def test_a_loop_is_as_expected_only_if_every_verdict_is(rounds):
    first = rounds[0]
    passed = first.bad_fix._replace(outcome="pass", refusing=())
    elsewhere = first.bad_fix._replace(refusing=("golden-cases",))
    unsure = first.repair._replace(outcome="needs-approval")
    for wrong in (
        first._replace(bad_fix=passed),
        first._replace(bad_fix=elsewhere),
        first._replace(repair=unsure),
    ):
        assert not all_as_expected([wrong, *rounds[1:]])


def test_each_task_allows_the_file_that_its_repair_changes(rounds, out):
    for number, patch in enumerate(REPAIRS, start=1):
        task = read(out / f"round-{number}" / "task.json")
        changed = [line[6:] for line in patch.read_text("utf-8").splitlines() if line.startswith("+++ b/")]
        assert set(changed) <= set(task["allowed_files"])


def test_what_is_left_is_less_than_one_percent(rounds, out):
    left = read(out / "left" / "diagnosis.json")
    assert left["hit_rate"] > 0.85
    assert (
        sum(finding["recoverable_tokens"] for finding in left["findings"]) < 0.01 * left["tokens"]["prompt"]
    )


@pytest.mark.parametrize("name", ["first-uses", "day"])
def test_the_replayed_sets_are_written_for_both_sides(rounds, out, name):
    for label in ("before", "after"):
        assert (out / "replays" / name / f"{label}.jsonl").is_file()


def test_no_document_holds_a_path_of_this_machine(rounds, out):
    for path in (*out.glob("**/*.json"), *out.glob("**/task.md")):
        assert str(out.parent.resolve()) not in path.read_text(encoding="utf-8"), path


def test_commits_are_the_same_wherever_the_loop_runs(rounds, out):
    heads = [read(out / f"round-{number}" / "repair" / "verdict.json")["head"] for number in range(1, 5)]
    log = subprocess.run(
        ["git", "log", "--format=%H", heads[-1]], cwd=out / "desk", capture_output=True, text=True
    ).stdout.split()
    assert log[:4] == heads[::-1]


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("mine", encoding="utf-8")
    assert main([str(tmp_path)]) == 2
    assert "is not empty and no earlier run" in capsys.readouterr().err
    assert (tmp_path / "letter.txt").read_text(encoding="utf-8") == "mine"
