from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import typer
from typer.testing import CliRunner, Result

from keepwarm.cli import causes, verify
from keepwarm.cli.boundary import Boundary
from keepwarm.guard.verdict import digest_holds
from tests.cli.test_commands import one_line
from tests.guard.building import Loop, a_loop, edited, replaced, system_after, traffic, write_trace

app = typer.Typer(cls=Boundary, pretty_exceptions_enable=False)
app.command("verify")(verify.command)
app.command("causes")(causes.command)  # one command alone would be the program itself


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    made = a_loop(tmp_path)
    (tmp_path / "task.json").write_bytes(msgspec.json.encode(made.task))
    return made


def run(loop: Loop, *more: str, **without: None) -> Result:
    given = {
        "repo": loop.repository.folder,
        "base": loop.repository.base,
        "head": loop.head,
        "task": loop.folder / "task.json",
        "before": loop.before,
        "after": loop.after,
        "golden": loop.golden,
        "tests": "python -c pass",
    }
    words = [
        word for name, value in given.items() if name not in without for word in (f"--{name}", str(value))
    ]
    environment = {"COLUMNS": None, "NO_COLOR": None}
    return CliRunner(env=environment).invoke(app, ["verify", *words, *more])


def test_a_good_repair_exits_0(loop: Loop) -> None:
    result = run(loop)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("pass: Every check passes.")


def test_json_is_one_document_and_nothing_else(loop: Loop) -> None:
    result = run(loop, "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert document["schema"] == "keepwarm.verdict/1"
    assert digest_holds(document)
    assert run(loop, "--json").stdout == result.stdout


def test_a_bad_repair_exits_1_and_names_check_and_next_step(loop: Loop) -> None:
    write_trace(edited(traffic(system_after), replaced("Never refund", "Refund")), loop.after)
    result = run(loop)
    assert result.exit_code == 1
    line = one_line(result.stderr)
    assert "content-preserved says fail" in line
    assert "put it back" in line
    assert result.stdout.startswith("fail: ")


def test_missing_evidence_exits_1(loop: Loop) -> None:
    result = run(loop, golden=None)
    assert result.exit_code == 1
    assert "golden-cases says fail; first --golden: no golden cases were given" in one_line(result.stderr)


def test_an_approval_lets_it_pass(loop: Loop) -> None:
    case = json.loads((loop.golden / "00.json").read_text())
    case["after"] = [{"content": "approved, gladly", "tool_calls": []}]
    (loop.golden / "00.json").write_text(json.dumps(case))
    waiting = json.loads(run(loop, "--json").stdout)
    assert waiting["outcome"] == "needs-approval"
    problem = waiting["answers"][-1]["problems"][0]
    entry = {
        "check": "golden-cases",
        "case": problem["where"],
        "sha256": problem["approvable_sha256"],
        "approver": "R. Okafor",
        "reason": "read it",
    }
    file = loop.folder / "approvals.json"
    file.write_text(json.dumps({"schema": "keepwarm.approvals/1", "approvals": [entry]}))
    result = run(loop, "--approve", str(file))
    assert result.exit_code == 0
    assert "used: C-1 (golden-cases), by R. Okafor: read it" in result.stdout


def test_out_gets_both_documents(loop: Loop) -> None:
    out = loop.folder / "made" / "here"
    result = run(loop, "--json", "--out", str(out))
    assert (out / "verdict.json").read_text() == result.stdout
    assert "<title>keepwarm: pass" in (out / "verdict.html").read_text()


def test_options_of_the_simulation_reach_it(loop: Loop) -> None:
    document = json.loads(run(loop, "--json", "--block-size", "32", "--capacity-blocks", "50").stdout)
    assert document["options"]["block_size"] == 32
    assert document["options"]["capacity_blocks"] == 50
    assert "blocks of 32" in document["answers"][3]["looked_at"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--head", "nowhere"], "--head 'nowhere' names no commit"),
        (["--repo", "/"], "--repo '/' is no git repository"),
        (["--repo", "/nowhere"], "--repo '/nowhere'"),
        (["--task", "/nowhere"], "cannot read task '/nowhere'"),
        (["--before", "/nowhere"], "/nowhere"),
        (["--golden", "/nowhere"], "--golden '/nowhere' is no folder"),
        (["--approve", "/nowhere"], "cannot read approvals '/nowhere'"),
        (["--tests", "no-such-program-here"], "cannot run 'no-such-program-here'"),
        (["--tests-limit-s", "-1"], "not a positive number of seconds"),
        (["--out", "/dev/null"], "--out '/dev/null'"),
        (["--tokenizer", "/nowhere/at/all"], "nowhere"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_2(loop: Loop, more: list[str], says: str) -> None:
    result = run(loop, *more)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert says in one_line(result.stderr)
