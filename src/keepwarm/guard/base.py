"""The protocol of a check: one question about a repair, answered with its reason.

To add one: copy the smallest neighbour, list it in ``__init__.py`` of ``checks``; the conformance suite does
the rest.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import msgspec

from keepwarm.diagnose.options import Options
from keepwarm.guard.traces import Comparison, compare_traces
from keepwarm.repair.task import Task

Outcome = Literal["pass", "fail", "needs-approval"]
Need = Literal["before", "after", "golden", "tests"]


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
    # What a program printed, masked; kept beside the verdict and never in it, because times vary.
    output: str = ""


class Evidence(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What is given to every check. None: it was not given; a check that needs it fails and says so."""

    repository: Path
    base: str  # revisions
    head: str
    task: Task
    before: Path | None  # traces
    after: Path | None
    golden: Path | None  # directory of golden cases
    tests: str | None  # command that runs the project's tests
    tests_limit_s: float = 900.0
    options: Options = Options()  # how both traces are read and simulated
    reveal: bool = False  # show recorded texts; without it their kind and length

    @functools.cached_property
    def comparison(self) -> Comparison:
        """Both traces, read and paired once for all checks. Raises InputError; both must be given."""
        assert self.before is not None
        assert self.after is not None
        return compare_traces(self.before, self.after, self.options)


class Look(NamedTuple):
    """What a check saw; the outcome follows from the problems."""

    looked_at: str
    problems: tuple[Problem, ...] = ()
    output: str = ""


class GuardCheck(abc.ABC):
    """One question. The class docstring is its documentation."""

    name: ClassVar[str]
    needs: ClassVar[tuple[Need, ...]] = ()

    def answer(self, evidence: Evidence) -> Answer:
        """Look and say. Does not mutate the repository; ``InputError`` for evidence that cannot be read.

        Fails if something it needs was not given, or if any problem cannot be approved.
        """
        missing = tuple(_missing(need) for need in self.needs if getattr(evidence, need) is None)
        look = Look("nothing: evidence is missing", missing) if missing else self.look(evidence)
        return Answer(
            check=self.name,
            outcome=outcome_of(look.problems),
            looked_at=look.looked_at,
            problems=look.problems,
            output=look.output,
        )

    @abc.abstractmethod
    def look(self, evidence: Evidence) -> Look:
        """What there is to see, everything in ``needs`` given. Raises InputError."""


def outcome_of(problems: Iterable[Problem]) -> Outcome:
    """``pass`` without problems, ``needs-approval`` if all of them can be approved."""
    approvable = [problem.approvable_sha256 is not None for problem in problems]
    if not approvable:
        return "pass"
    return "needs-approval" if all(approvable) else "fail"


def _missing(need: Need) -> Problem:
    what = {
        "before": "no trace of BEFORE was given",
        "after": "no trace of AFTER was given",
        "golden": "no golden cases were given",
        "tests": "no command that runs the project's tests was given",
    }
    return Problem(
        where=f"--{need}", what=f"{what[need]}; what is missing is never passed", next_step=f"give --{need}"
    )
