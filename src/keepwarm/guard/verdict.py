"""The verdict: every answer, what it rests on, and a digest over all of it."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from keepwarm._json import plain
from keepwarm.diagnose.options import Options
from keepwarm.guard.approvals import Approval, Unused
from keepwarm.guard.base import Answer, Outcome
from keepwarm.guard.content.pieces import canonical

SCHEMA = "keepwarm.verdict/1"


class FileSha256(msgspec.Struct, frozen=True, kw_only=True):
    """A file by its name, without the folders of the machine it lay on."""

    name: str
    sha256: str


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at. None: it was not given."""

    task: FileSha256
    before: FileSha256 | None
    after: FileSha256 | None
    golden: tuple[FileSha256, ...] | None
    approvals: FileSha256 | None
    tests: str | None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The document ``keepwarm.verdict/1`` without its digest."""

    outcome: Outcome
    task_id: str
    finding: str
    cause: str
    call_site: str
    base: str  # commits
    head: str
    inputs: Inputs
    options: Options
    keepwarm_version: str
    values_revealed: bool
    answers: tuple[Answer, ...]
    approvals_used: tuple[Approval, ...]
    approvals_unused: tuple[Unused, ...]


def overall(answers: tuple[Answer, ...]) -> Outcome:
    """The worst answer."""
    outcomes = {answer.outcome for answer in answers}
    if "fail" in outcomes:
        return "fail"
    return "needs-approval" if "needs-approval" in outcomes else "pass"


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """The verdict as JSON holds it: schema first, digest last, what programs printed left out."""
    document: dict[str, Any] = {"schema": SCHEMA, **plain(verdict)}
    for answer in document["answers"]:
        del answer["output"]
    return document | {"digest": _digest(document)}


def digest_holds(document: dict[str, Any]) -> bool:
    """Whether a verdict's digest is that of its other fields: nobody has edited it since."""
    rest = {name: value for name, value in document.items() if name != "digest"}
    return document.get("digest") == _digest(rest)


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(document).encode("utf-8", "surrogatepass")).hexdigest()
