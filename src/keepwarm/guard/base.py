"""The protocol of a check: one question about a repair, answered with its reason.

To add one: copy the smallest neighbour, list it in ``__init__.py`` of ``checks``; the conformance suite does
the rest.
"""

from __future__ import annotations

import abc
from pathlib import Path
from typing import ClassVar, Literal

import msgspec

from keepwarm.repair.task import Task

Outcome = Literal["pass", "fail", "needs-approval"]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, or that a person must look at: where, what, and what to do next."""

    where: str
    what: str
    next_step: str
    # What an approval must name; None if it cannot be approved.
    approvable_sha256: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """``pass`` has no problems. ``looked_at`` says in one line what the answer rests on."""

    check: str
    outcome: Outcome
    looked_at: str
    problems: tuple[Problem, ...] = ()


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What is given to every check. None: it was not given; a check that needs it fails and says so."""

    repository: Path
    base: str  # revisions
    head: str
    task: Task
    before: Path | None  # traces
    after: Path | None
    golden: Path | None  # directory of golden cases
    tests: str | None  # command that runs the project's tests


class GuardCheck(abc.ABC):
    """One question. The class docstring is its documentation."""

    name: ClassVar[str]

    @abc.abstractmethod
    def answer(self, evidence: Evidence) -> Answer:
        """Look and say. Does not mutate the repository; ``InputError`` for evidence that cannot be read."""
