"""All checks of one repair, and their verdict."""

from __future__ import annotations

import hashlib
from pathlib import Path

from keepwarm import __version__
from keepwarm._progress import Progress, Silent
from keepwarm.guard.approvals import judge, read_approvals
from keepwarm.guard.base import Evidence
from keepwarm.guard.checks import CHECKS
from keepwarm.guard.git import Git
from keepwarm.guard.golden import read_golden
from keepwarm.guard.strict import read_bytes, read_document
from keepwarm.guard.verdict import FileSha256, Inputs, Verdict, overall
from keepwarm.repair.task import SCHEMA, Task
from keepwarm.trace.open import open_trace


def read_task(path: Path) -> Task:
    """Raises InputError: the file is no ``keepwarm.task/1`` document."""
    return read_document(read_bytes(path, "task"), Task, SCHEMA, f"task {str(path)!r}")


def verify(
    evidence: Evidence, task_file: Path, approvals_file: Path | None, progress: Progress | None = None
) -> Verdict:
    """Ask every check and judge. Does not mutate the repository beyond a worktree that is gone afterwards.

    Raises:
        InputError: evidence that was given cannot be read. What was not given is a fail, no error.
    """
    heard = progress or Silent()
    git = Git(evidence.repository)
    base, head = git.commit(evidence.base, "--base"), git.commit(evidence.head, "--head")
    approvals = read_approvals(approvals_file, (check.name for check in CHECKS))
    inputs = _inputs(evidence, task_file, approvals_file)
    answers = []
    for check in CHECKS:
        heard.stage(check.name, None)
        answers.append(check().answer(evidence))
    judged = judge(answers, approvals)
    finding = evidence.task.finding
    return Verdict(
        outcome=overall(judged.answers),
        task_id=evidence.task.id,
        finding=finding.id,
        cause=finding.cause,
        call_site=finding.call_site,
        base=base,
        head=head,
        inputs=inputs,
        options=evidence.options,
        keepwarm_version=__version__,
        values_revealed=evidence.reveal,
        answers=judged.answers,
        approvals_used=judged.used,
        approvals_unused=judged.unused,
    )


def _inputs(evidence: Evidence, task_file: Path, approvals_file: Path | None) -> Inputs:
    """What is given, by name and SHA-256; read before the long work, so that a wrong file is said at once."""
    golden = None
    if evidence.golden is not None:
        golden = tuple(FileSha256(name=n, sha256=s) for n, s in read_golden(evidence.golden).sha256s)
    return Inputs(
        task=_file(task_file, "task"),
        before=_trace(evidence.before, evidence.options.format),
        after=_trace(evidence.after, evidence.options.format),
        golden=golden,
        approvals=None if approvals_file is None else _file(approvals_file, "approvals"),
        tests=evidence.tests,
    )


def _trace(path: Path | None, format: str) -> FileSha256 | None:  # noqa: A002 - as the flag is called
    return None if path is None else FileSha256(name=path.name, sha256=open_trace(path, format).sha256)


def _file(path: Path, what: str) -> FileSha256:
    return FileSha256(name=path.name, sha256=hashlib.sha256(read_bytes(path, what)).hexdigest())
