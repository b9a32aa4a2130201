"""A task, a repository it is about, and a clock that does not wait."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec

from keepwarm.diagnose.findings import Owner
from keepwarm.repair.agents.base import Clock
from keepwarm.repair.task import (
    DeclaredRepair,
    Location,
    Preserve,
    ReuseTarget,
    ShownBreak,
    Task,
    TaskFinding,
)

PROMPTS = "app/prompts.py"
SOURCE = 'def system(now):\n    return f"Now: {now}. You are the helpdesk."\n'
FIXED = 'def system(now):\n    return f"You are the helpdesk. Now: {now}."\n'


class FakeClock(Clock):
    """Sleeping costs nothing and is written down."""

    def __init__(self) -> None:
        self.time_s = 1000.0
        self.slept_s: list[float] = []

    def now_s(self) -> float:
        return self.time_s

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.time_s += seconds


def sample_task(base_commit: str | None, **changes: object) -> Task:
    task = Task(
        id="task-0123456789ab",
        trace_sha256="0" * 64,
        base_commit=base_commit,
        finding=TaskFinding(
            id="F1",
            cause="clock",
            owner=Owner.APP,
            call_site="site-1",
            path="messages[0].content",
            slot_type="time",
            requests=40,
            recoverable_tokens=9000,
            suggestion="Move the time behind the instructions.",
        ),
        shown=ShownBreak(before="Now: ", values=("<time-1>", "<time-2>"), after=". You are the helpdesk."),
        locations=(
            Location(file=PROMPTS, first_line=2, last_line=2, confidence=0.9, why="all words stand there"),
        ),
        not_located=None,
        allowed_files=(PROMPTS,),
        moves_allowed=True,
        declared=(DeclaredRepair(kind="moved", text="messages[0].content", reason="the time goes last"),),
        preserve=Preserve(
            static_fragments=2,
            static_fragment_sha256=("1" * 64, "2" * 64),
            dynamic_paths=("messages[0].content",),
            tools=(),
            roles=("system", "user"),
        ),
        target=ReuseTarget(hit_rate_before=0.02, hit_rate_repaired=0.8, hit_rate_required=0.78),
        verify=("keepwarm verify --repo . --base BASE --head HEAD",),
        placeholders={"time": 2},
    )
    return msgspec.structs.replace(task, **changes)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def make_repository(folder: Path) -> Path:
    """One commit, a remote that nothing can be pushed to, an edit under way and a staged one."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "somebody")
    git(folder, "config", "user.email", "somebody@localhost")
    git(folder, "remote", "add", "origin", "git@github.com:acme/app.git")
    (folder / "app").mkdir()
    (folder / PROMPTS).write_text(SOURCE)
    (folder / "README.md").write_text("An app.\n")
    (folder / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    (folder / ".gitattributes").write_text("*.txt text eol=lf\n")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_app.py").write_text("def test_it():\n    assert True\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    (folder / "README.md").write_text("An app, edited.\n")
    (folder / "staged.txt").write_text("staged\n")
    git(folder, "add", "staged.txt")
    return folder


def write_task(path: Path, task: Task) -> Path:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(task)))
    return path
