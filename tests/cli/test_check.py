from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from keepwarm.cli import check
from keepwarm.cli.boundary import Boundary
from tests.gate.traces import broken, healthy

Check = Callable[..., Result]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Runs ``keepwarm check`` in a folder with two traces, ``good.jsonl`` and ``bad.jsonl``."""
    app = typer.Typer(cls=Boundary, add_completion=False, rich_markup_mode=None)
    app.command("check")(check.command)
    app.callback()(lambda: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    healthy(Path("good.jsonl"))
    broken(Path("bad.jsonl"))

    def run(*arguments: str) -> Result:
        return CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1"}).invoke(app, ["check", *arguments])

    return run


def one_line(result: Result, code: int) -> str:
    assert result.exit_code == code, result.stderr
    assert result.stderr.startswith("keepwarm: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def written(cli: Check, trace: str = "good.jsonl") -> None:
    result = cli(trace, "--baseline", "b.json", "--write-baseline")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Baseline of 24 requests written to 'b.json': hit rate ")


def test_a_change_that_loses_hits_is_refused(cli: Check) -> None:
    written(cli)
    assert cli("good.jsonl", "--baseline", "b.json").exit_code == 0
    result = cli("bad.jsonl", "--baseline", "b.json")
    said = one_line(result, 1)
    assert "hit rate fell from " in said
    assert "new finding clock at messages[0].content" in said
    assert "If that is meant: keepwarm check bad.jsonl --baseline b.json --write-baseline" in said
    assert result.stdout.startswith("Refused: 3 things got worse.")
    assert cli(*shlex.split(said.partition("keepwarm check ")[2])).exit_code == 0
    assert cli("bad.jsonl", "--baseline", "b.json").exit_code == 0


def test_the_allowance(cli: Check) -> None:
    written(cli)
    assert "hit rate" not in one_line(cli("bad.jsonl", "--baseline", "b.json", "--max-drop", "100"), 1)


def test_json_and_nothing_else_twice_the_same(cli: Check) -> None:
    written(cli)
    first, second = (cli("bad.jsonl", "--baseline", "b.json", "--json") for _ in range(2))
    document = json.loads(first.stdout)
    assert document["schema"] == "keepwarm.check/1"
    assert document["passed"] is False
    assert len(document["refusals"]) == 3
    assert first.stdout_bytes == second.stdout_bytes


def test_files_twice_the_same(cli: Check, tmp_path: Path) -> None:
    written(cli)
    contents = []
    for _ in range(2):
        assert (
            cli("bad.jsonl", "--baseline", "b.json", "--sarif", "s.sarif", "--summary", "s.md").exit_code == 1
        )
        contents.append([(tmp_path / name).read_bytes() for name in ("b.json", "s.sarif", "s.md")])
    assert contents[0] == contents[1]
    assert json.loads(contents[0][1])["version"] == "2.1.0"
    assert contents[0][2].startswith(b"## keepwarm: ")


def test_the_job_summary_of_github_is_added_to(
    cli: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(cli)
    assert cli("good.jsonl", "--baseline", "b.json", "--summary", "auto").exit_code == 0
    summary = tmp_path / "summary.md"
    summary.write_text("Tests passed.\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert cli("good.jsonl", "--baseline", "b.json", "--summary", "auto").exit_code == 0
    assert summary.read_text().startswith("Tests passed.\n## keepwarm: the prefix cache holds\n")
    assert cli("good.jsonl", "--baseline", "b.json", "--write-baseline", "--summary", "auto").exit_code == 0
    assert summary.read_text().count("## keepwarm: a new baseline\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("good.jsonl --baseline none.json", "no baseline at 'none.json'; write one with --write-baseline"),
        ("none.jsonl --baseline b.json", "none.jsonl"),
        ("good.jsonl", "Missing option '--baseline'"),
        ("good.jsonl --baseline b.json --block-size 32", "block size 16 then, 32 now"),
        ("good.jsonl --baseline b.json --max-drop -1", "--max-drop"),
        ("good.jsonl --baseline b.json --max-drop nan", "--max-drop"),
        ("good.jsonl --baseline good.jsonl", "'good.jsonl' is no baseline of keepwarm"),
        (
            "good.jsonl --baseline good.jsonl --write-baseline",
            "--baseline 'good.jsonl' would overwrite the trace",
        ),
        (
            "good.jsonl --baseline no/b.json --write-baseline",
            "--baseline 'no/b.json': no file can be written there",
        ),
        ("good.jsonl --baseline b.json --sarif good.jsonl", "--sarif 'good.jsonl' would overwrite the trace"),
        ("good.jsonl --baseline bad.jsonl", "'bad.jsonl' is no baseline of keepwarm"),
        ("good.jsonl --baseline b.json --sarif ./b.json", "--sarif 'b.json' would overwrite --baseline"),
        (
            "good.jsonl --baseline b.json --sarif no/s.sarif",
            "--sarif 'no/s.sarif': no file can be written there",
        ),
        ("good.jsonl --baseline b.json --summary .", "--summary '.': no file can be written there"),
        ("good.jsonl --baseline b.json --task none.json", "cannot read the task 'none.json'"),
        ("good.jsonl --baseline b.json --task b.json", "'b.json' is no task of keepwarm"),
        ("good.jsonl --baseline b.json --write-baseline --json", "--write-baseline compares nothing"),
        ("good.jsonl --baseline bad.jsonl --write-baseline", "'bad.jsonl' is no baseline of keepwarm"),
    ],
)
def test_a_wrong_call_is_one_line_and_changes_nothing(
    cli: Check, tmp_path: Path, arguments: str, message: str
) -> None:
    written(cli)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = cli(*arguments.split())
    assert message in one_line(result, 2)
    assert result.stdout == ""
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "arguments",
    [
        "here --baseline b.json",
        "good.jsonl --baseline here",
        "good.jsonl --baseline b.json --task here",
        "good.jsonl --baseline here/b.json --write-baseline",
    ],
)
def test_links_that_lead_to_each_other(cli: Check, arguments: str) -> None:
    written(cli)
    Path("here").symlink_to("there")
    Path("there").symlink_to("here")
    assert "here" in one_line(cli(*arguments.split()), 2)


def test_nothing_heavy_is_imported_at_the_start() -> None:
    heavy = {"msgspec", "numpy", "rich", "keepwarm.gate"}
    program = f"import sys, keepwarm.cli.check; print({heavy!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "set()\n"
