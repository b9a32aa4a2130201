"""``keepwarm task run`` as a command: its options, its output, its exit codes."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from keepwarm.cli import agent
from keepwarm.cli.boundary import Boundary
from tests.repair.agents.sample import FIXED, PROMPTS, git, make_repository, sample_task, write_task
from tests.repair.agents.service import (
    KEYS,
    ORGANISATION,
    PULL_REQUEST,
    Service,
    status,
    without_pull_request,
)

FIX = f"from pathlib import Path; Path({PROMPTS!r}).write_text({FIXED!r})\n"
PATIENCE_S = 60.0

app = typer.Typer(cls=Boundary, pretty_exceptions_enable=False)
group = typer.Typer()
group.command("run")(agent.command)
app.add_typer(group, name="task")


class Calls:
    """The command with a task and a checkout, in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository = make_repository(folder / "app")
        self.task = write_task(folder / "task.json", sample_task(git(self.repository, "rev-parse", "HEAD")))
        (folder / "worktrees").mkdir()

    def arguments(self, *options: str) -> list[str]:
        return ["task", "run", str(self.task), "--repo", str(self.repository), *options]

    def __call__(self, *options: str, **environment: str | None) -> Result:
        kept: dict[str, str | None] = {"DEVIN_API_KEY": None, "DEVIN_ORG_ID": None, **environment}
        return CliRunner(env=kept).invoke(app, self.arguments(*options))

    def command(self, code: str, *options: str) -> Result:
        return self(*self.words(code), *options)

    def words(self, code: str) -> list[str]:
        program = shlex.join([sys.executable, "-c", code])
        return ["--agent", "command", "--command", program, "--worktrees", str(self.folder / "worktrees")]


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    return Calls(tmp_path)


@pytest.fixture
def service() -> Iterator[Service]:
    with Service("v3") as running:
        yield running


def one_line(result: Result, code: int) -> str:
    assert result.exit_code == code, result.output
    last = result.stderr.splitlines()[-1]
    assert last.startswith("keepwarm: ")
    assert "Traceback" not in result.output
    return last


def test_a_command_that_repairs(calls: Calls) -> None:
    result = calls.command(FIX)
    assert result.exit_code == 0, result.output
    shown = dict(line.split(": ", 1) for line in result.stdout.splitlines())
    assert shown["outcome"] == "done: 1 file changed"
    assert shown["changed files"] == PROMPTS
    assert git(calls.repository, "rev-parse", shown["branch"]) == shown["commit"]
    assert Path(shown["worktree"]).is_dir()


def test_a_command_that_repairs_as_json(calls: Calls) -> None:
    result = calls.command(FIX, "--json", "--remove-worktree", "--branch", "repaired")
    document: dict[str, Any] = json.loads(result.stdout)
    assert (document["schema"], document["outcome"]) == ("keepwarm.agent-run/1", "done")
    assert (document["agent"], document["finding"], document["branch"]) == ("command", "F1", "repaired")
    assert document["worktree"] is None
    assert list((calls.folder / "worktrees").iterdir()) == []


def test_out_of_scope_is_a_no(calls: Calls) -> None:
    result = calls.command(FIX + "Path('README.md').write_text('x')", "--json")
    assert "out-of-scope: 1 change the task does not allow: README.md; look at" in one_line(result, 1)
    document = json.loads(result.stdout)
    assert document["out_of_scope"] == ["README.md"]
    assert Path(document["worktree"]).is_dir()


def test_no_change_is_a_no(calls: Calls) -> None:
    assert "no-change: the command ended and changed nothing" in one_line(calls.command("pass"), 1)


def test_a_command_beyond_its_time_is_a_no(calls: Calls) -> None:
    result = calls.command("import time; time.sleep(1000)", "--time-limit-s", "0.5")
    assert "timed-out: the command did not end within 0.5 s" in one_line(result, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--agent", "command"], "--command 'CLI --its-options'"),
        (["--agent", "command", "--command", "true", "--authorize", "a/b:F1"], "is not for --agent command"),
        (["--agent", "command", "--command", "true", "--state", "x"], "is not for --agent command"),
        (["--agent", "command", "--command", "true", "--time-limit-s", "0"], "not a positive number"),
        (["--agent", "command", "--command", "true", "--time-limit-s", "nan"], "not a positive number"),
        (["--agent", "command", "--command", "true", "--env", "NO_SUCH"], "is not set"),
        (["--agent", "other"], "--agent"),
        (["--agent", "devin"], "--max-acu-limit N"),
        (["--agent", "devin", "--max-acu-limit", "0"], "--max-acu-limit"),
        (["--agent", "devin", "--max-acu-limit", "5"], "set DEVIN_API_KEY"),
        (["--agent", "devin", "--max-acu-limit", "5", "--command", "true"], "is not for --agent devin"),
    ],
)
def test_a_wrong_call_is_one_line(calls: Calls, options: list[str], message: str) -> None:
    result = calls(*options)
    assert message in one_line(result, 2)
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no task"),
        (b"\xff\xfe", "is no task"),
        (b"[]", "is no task"),
        (b'{"schema": "keepwarm.task/1"}', "is no task"),
        (None, "cannot read"),
    ],
)
def test_a_file_that_is_no_task(calls: Calls, content: bytes | None, message: str) -> None:
    calls.task.unlink()
    if content is not None:
        calls.task.write_bytes(content)
    assert message in one_line(calls.command("pass"), 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": "keepwarm.task/2"}, "export the task again"),
        ({"allowed_files": ()}, "allows no file to be changed"),
        ({"base_commit": "f" * 40}, "is not in"),
        ({"base_commit": "--output=x"}, "is not in"),
    ],
)
def test_a_task_that_cannot_be_carried_out(calls: Calls, changes: dict[str, Any], message: str) -> None:
    write_task(calls.task, sample_task(**{"base_commit": None, **changes}))
    assert message in one_line(calls.command("pass"), 2)


def test_a_folder_that_is_no_checkout(calls: Calls) -> None:
    for folder in (calls.folder, calls.folder / "nowhere", calls.task):
        calls.repository = folder
        one_line(calls.command("pass"), 2)


def test_devin_end_to_end(calls: Calls, service: Service) -> None:
    options = ["--agent", "devin", "--max-acu-limit", "5", "--authorize", "acme/app:F1"]
    options += ["--api-url", service.url, "--state", str(calls.folder / "state"), "--json"]
    service.states = service.states[1:]
    given = {"DEVIN_API_KEY": KEYS["v3"], "DEVIN_ORG_ID": ORGANISATION}
    result = calls(*options, **given)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["pull_request"], document["cost_acus"]) == (PULL_REQUEST, 2.25)
    assert calls(*options, **given).exit_code == 0
    assert len(service.opened) == 1
    assert "hunter2" not in result.output

    service.states = [without_pull_request("v3", status="error", status_detail=None)]
    line = one_line(calls(*options, **given), 1)
    assert "failed: error, and there is no pull request; look at https://app.devin.ai/sessions/1" in line
    service.before["GET"] = [status(401)]
    assert "is not accepted" in one_line(calls(*options, **given), 2)


def test_devin_is_not_called_without_authorisation(calls: Calls, service: Service) -> None:
    options = ["--agent", "devin", "--max-acu-limit", "5", "--api-url", service.url]
    result = calls(*options, DEVIN_API_KEY=KEYS["v3"], DEVIN_ORG_ID=ORGANISATION)
    assert "only with --authorize acme/app:F1" in one_line(result, 2)
    assert service.asked == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_too(calls: Calls, number: signal.Signals) -> None:
    marker = calls.folder / "started"
    os.mkfifo(marker)
    code = f"import os, time; open({str(marker)!r}, 'w').write(str(os.getpid())); time.sleep(1000)"
    program = "import sys; from tests.cli.test_agent import app; app()"
    words = [sys.executable, "-c", program, *calls.arguments(*calls.words(code))]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pid = int(marker.read_text())
    running.send_signal(number)
    out, err = running.communicate(timeout=PATIENCE_S)
    assert (running.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "keepwarm: interrupted"
    until_s = time.monotonic() + PATIENCE_S
    while runs(pid) and time.monotonic() < until_s:
        time.sleep(0.05)
    assert not runs(pid)


def runs(pid: int) -> bool:
    """Whether it goes on: one that ended may stay on the list of processes until its parent looks."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
