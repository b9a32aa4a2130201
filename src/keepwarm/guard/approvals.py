"""Approvals: a person's word for one very thing, as a ``keepwarm.approvals/1`` document.

An approval names the check, the case (where the problem is), the SHA-256 that the verdict printed for it, who
approves and why. It helps that one problem and no other; of anything else it is said that it helps nothing.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from keepwarm._errors import InputError
from keepwarm.guard.base import Answer, Problem, outcome_of
from keepwarm.guard.strict import read_bytes, read_document

SCHEMA = "keepwarm.approvals/1"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LOOK_EMPTY = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and signs by name, blank by look


class Approval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One person's word for one output, file or list."""

    check: str
    case: str
    sha256: str
    approver: str
    reason: str


class _Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    schema: str
    approvals: tuple[Approval, ...]


class Approvals(NamedTuple):
    """The entries of a file, and the file's SHA-256; None: no file was given."""

    entries: tuple[Approval, ...] = ()
    sha256: str | None = None


class Unused(msgspec.Struct, frozen=True, kw_only=True):
    """An approval that helped nothing. ``stale``: its case needs one, but for something else now."""

    approval: Approval
    why: Literal["stale", "unused"]


class Judged(NamedTuple):
    """Answers with what was approved taken out of their problems, and what became of each approval."""

    answers: tuple[Answer, ...]
    used: tuple[Approval, ...]
    unused: tuple[Unused, ...]


def read_approvals(path: Path | None, checks: Iterable[str]) -> Approvals:
    """Raises InputError: the file or an entry is not as it must be; an approval is never guessed."""
    if path is None:
        return Approvals()
    content = read_bytes(path, "approvals")
    document = read_document(content, _Document, SCHEMA, f"approvals {str(path)!r}")
    known = tuple(checks)
    seen: set[tuple[str, str, str]] = set()
    for number, entry in enumerate(document.approvals, 1):
        problem = _wrong(entry, known)
        key = (entry.check, entry.case, entry.sha256)
        if problem is None and key in seen:
            problem = "says the same as an earlier one; leave one of them out"
        if problem is not None:
            raise InputError(f"approvals {str(path)!r}, entry {number}: {problem}")
        seen.add(key)
    return Approvals(document.approvals, hashlib.sha256(content).hexdigest())


def _wrong(entry: Approval, checks: Sequence[str]) -> str | None:
    if entry.check not in checks:
        return f"there is no check {entry.check!r}; name one of {', '.join(checks)}"
    if not _SHA256.fullmatch(entry.sha256):
        return f"sha256 is {entry.sha256!r}, not 64 lower-case hex digits; copy the one of the verdict"
    for name in ("case", "approver", "reason"):
        if is_blank(getattr(entry, name)):
            return f"{name} is empty; an approval says who approves what and why"
    return None


def is_blank(text: str) -> bool:
    """Whether there is nothing to see in ``text``: spaces, controls, marks and fillers alone name nobody."""
    return not any(unicodedata.category(c)[0] in "LNPS" and c not in _LOOK_EMPTY for c in text)


def judge(answers: Iterable[Answer], approvals: Approvals) -> Judged:
    """Take approved problems out of ``answers``. A problem that cannot be approved stays."""
    waiting = {(entry.check, entry.case, entry.sha256): entry for entry in approvals.entries}
    used: dict[tuple[str, str, str], Approval] = {}
    open_cases: set[tuple[str, str]] = set()
    judged: list[Answer] = []
    for answer in answers:
        left: list[Problem] = []
        for problem in answer.problems:
            key = (answer.check, problem.where, problem.approvable_sha256 or "")
            if key in waiting:
                used[key] = waiting[key]
            else:
                left.append(problem)
            if problem.approvable_sha256 is not None:
                open_cases.add((answer.check, problem.where))
        judged.append(msgspec.structs.replace(answer, problems=tuple(left), outcome=outcome_of(left)))
    return Judged(
        tuple(judged),
        tuple(entry for key, entry in waiting.items() if key in used),
        tuple(
            Unused(approval=entry, why="stale" if (entry.check, entry.case) in open_cases else "unused")
            for key, entry in waiting.items()
            if key not in used
        ),
    )
