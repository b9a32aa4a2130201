"""A small application with a git history, its recorded traffic before and after, and the task between."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from keepwarm.diagnose.findings import Owner
from keepwarm.guard.base import Evidence
from keepwarm.repair.task import (
    DeclaredRepair,
    Preserve,
    ReuseTarget,
    ShownBreak,
    Task,
    TaskFinding,
)

Record = dict[str, Any]
Records = list[Record]

RULES = """\
## Refunds

Never refund an invoice twice. Refunds above 500 need the approval of finance.
The customer's written consent counts as authorization for 30 days.

## Style

Answer in three sentences. Do not promise dates."""

PASSAGES = (
    "An invoice is paid within 14 days. Reminders go out on day 15.",
    "A plan is changed at the end of the month. Unused days are credited.",
    "Exports are kept for 90 days. They hold names and sums.",
    "Two people may share a seat. The second factor is personal.",
)
APP = """\
def prompt(now, passage):
    return f"You are the desk of a bookkeeper.\\nCurrent time: {now}\\n\\n{RULES}\\n\\nSource:\\n{passage}"
"""
REPAIRED_APP = """\
def prompt(now, passage):
    return f"You are the desk of a bookkeeper.\\n\\n{RULES}\\n\\nSource:\\n{passage}\\n\\nCurrent time: {now}"
"""
TEST = """\
from app import prompt

RULES = "rules"


def test_prompt_holds_the_time():
    text = prompt("12:00", "p")
    assert "12:00" in text
    assert "bookkeeper" in text
"""


def system_before(now: str, passage: str) -> str:
    return f"You are the desk of a bookkeeper.\nCurrent time: {now}\n\n{RULES}\n\nSource:\n{passage}"


def system_after(now: str, passage: str) -> str:
    return f"You are the desk of a bookkeeper.\n\n{RULES}\n\nSource:\n{passage}\n\nCurrent time: {now}"


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name} an invoice",
            "parameters": {"type": "object", "properties": {"number": {"type": "string"}}},
        },
    }
    for name in ("refund", "look_up")
]


def traffic(system: Callable[[str, str], str], number: int = 12) -> Records:
    """Requests of one call site, three a session, with a clock and a passage in the system text."""
    records = []
    for n in range(number):
        question = f"What about invoice {1000 + n}? My name is Customer {n}."
        content = system(f"2026-05-12 07:{n:02d}:30 UTC", PASSAGES[n % len(PASSAGES)])
        records.append(
            {
                "id": f"r-{n:03d}",
                "timestamp": 1_778_570_000 + 60 * n,
                "session_id": f"s-{n // 3}",
                "body": {
                    "model": "m",
                    "messages": [
                        {"role": "system", "content": content},
                        {"role": "user", "content": question},
                    ],
                    "tools": copy.deepcopy(TOOLS),
                    "temperature": 0,
                },
                "response": {
                    "choices": [{"index": 0, "message": {"role": "assistant", "content": f"Answer {n}."}}]
                },
            }
        )
    return records


def write_trace(records: Iterable[Record], path: Path) -> Path:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    return path


def edited(records: Records, edit: Callable[[Record], None], only: int | None = None) -> Records:
    """A copy with ``edit`` applied to the body of every request, or of one."""
    made = copy.deepcopy(records)
    for n, record in enumerate(made):
        if only is None or n == only:
            edit(record["body"])
    return made


def replaced(old: str, new: str, message: int = 0) -> Callable[[Record], None]:
    """An edit of a message's text; the text must be there."""

    def edit(body: Record) -> None:
        content = body["messages"][message]["content"]
        assert old in content
        body["messages"][message]["content"] = content.replace(old, new, 1)

    return edit


class Repository:
    """A git repository with one commit; ``commit`` makes another on top of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        self.base = self.commit({"app.py": APP, "test_app.py": TEST, "other.py": "VALUE = 1\n"})

    def commit(self, files: dict[str, str | None]) -> str:
        """Write files, or delete those that are None, and commit."""
        for name, content in files.items():
            path = self.folder / name
            if content is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)
        self.git("add", "-A")
        return self.committed()

    def committed(self) -> str:
        self.git("commit", "-q", "--allow-empty", "-m", "change")
        return self.git("rev-parse", "HEAD").strip()

    def git(self, *arguments: str) -> str:
        names = {f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env=os.environ | names | dates | {"GIT_CONFIG_GLOBAL": os.devnull},
            capture_output=True,
            check=True,
        )
        return done.stdout.decode()


def a_task(trace: Path, base: str | None = None, **changes: Any) -> Task:
    """The task that moves the clock; ``changes`` are fields of it, or of its finding."""
    finding = TaskFinding(
        id="F1",
        cause="clock",
        owner=Owner.APP,
        call_site="site-1",
        path="messages[0].content",
        slot_type="time",
        requests=11,
        recoverable_tokens=900,
        suggestion="Move the time behind the shared text.",
    )
    own = {name: changes.pop(name) for name in list(changes) if name in TaskFinding.__struct_fields__}
    task = Task(
        id="task-1",
        trace_sha256=hashlib.sha256(trace.read_bytes()).hexdigest(),
        base_commit=base,
        finding=msgspec.structs.replace(finding, **own),
        shown=ShownBreak(before="", values=(), after=""),
        locations=(),
        not_located=None,
        allowed_files=("app.py",),
        moves_allowed=True,
        declared=(),
        preserve=Preserve(
            static_fragments=0, static_fragment_sha256=(), dynamic_paths=(), tools=(), roles=()
        ),
        target=ReuseTarget(hit_rate_before=0.05, hit_rate_repaired=0.33, hit_rate_required=0.3),
        verify=(),
        placeholders={},
    )
    return msgspec.structs.replace(task, **changes)


def declared(*repairs: tuple[str, str]) -> tuple[DeclaredRepair, ...]:
    return tuple(DeclaredRepair(kind=kind, text=text, reason="on purpose") for kind, text in repairs)  # type: ignore[arg-type]


def golden_case(name: str, **changes: Any) -> dict[str, Any]:
    answer = {"content": f"Refund of {name} is approved.", "tool_calls": []}
    case = {
        "schema": "keepwarm.golden/1",
        "case": name,
        "request": "r-000",
        "before": [answer, answer],
        "after": [answer],
        "assertions": [{"kind": "contains", "text": "approved"}],
    }
    return case | changes


def write_golden(folder: Path, *cases: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for number, case in enumerate(cases):
        (folder / f"{number:02d}.json").write_text(json.dumps(case))
    return folder


class Loop(NamedTuple):
    """Everything ``verify`` takes, of a good repair; tests spoil one thing."""

    folder: Path
    repository: Repository
    head: str
    before: Path
    after: Path
    golden: Path
    task: Task

    def evidence(self, **changes: Any) -> Evidence:
        evidence = Evidence(
            repository=self.repository.folder,
            base=self.repository.base,
            head=self.head,
            task=self.task,
            before=self.before,
            after=self.after,
            golden=self.golden,
            tests="python -c pass",
        )
        return msgspec.structs.replace(evidence, **changes)

    def with_after(self, records: Records, **task: Any) -> Evidence:
        """The evidence with another AFTER, and another task if fields of it are given."""
        path = write_trace(records, self.folder / "spoilt.jsonl")
        chosen = a_task(self.before, self.repository.base, **task) if task else self.task
        return self.evidence(after=path, task=chosen)


def a_loop(folder: Path) -> Loop:
    """A good repair: the clock goes to the end of the system text."""
    repository = Repository(folder / "repository")
    head = repository.commit({"app.py": REPAIRED_APP})
    before = write_trace(traffic(system_before), folder / "before.jsonl")
    after = write_trace(traffic(system_after), folder / "after.jsonl")
    golden = write_golden(folder / "golden", golden_case("C-1"), golden_case("C-2", request="r-001"))
    return Loop(folder, repository, head, before, after, golden, a_task(before, repository.base))
