"""Whether the model still answers the same."""

from __future__ import annotations

from collections.abc import Iterator

from keepwarm._text import counted, percent
from keepwarm.guard.base import Evidence, GuardCheck, Look, Problem
from keepwarm.guard.golden import (
    Assertion,
    GoldenCase,
    Output,
    canonical_output,
    holds,
    output_sha256,
    read_golden,
)
from keepwarm.guard.shown import Shown

_FEWEST_BEFORE = 2


class GoldenCases(GuardCheck):
    """For every golden case, AFTER answered as BEFORE did, and what the case asserts is true.

    An answer is compared as a whole: its text exactly, its tool calls by name and arguments. An assertion
    that AFTER does not meet is a fail, as is one that BEFORE does not meet: then the case is wrong. An answer
    that no run of BEFORE gave needs an approval that names the case and the SHA-256 of that very answer. That
    holds where BEFORE run twice gave two answers, too: how alike those are is said, so that a person can
    judge, but noise is no excuse. A case without two runs of BEFORE, a run of AFTER and an assertion is a
    fail, and so is one whose request is not in both traces.
    """

    name = "golden-cases"
    needs = ("golden",)

    def look(self, evidence: Evidence) -> Look:
        assert evidence.golden is not None
        golden = read_golden(evidence.golden)
        shown = Shown(reveal=evidence.reveal)
        problems = [problem for case in golden.cases for problem in _case(case, shown)]
        problems += _requests(golden.cases, evidence)
        same = sum(_unchanged(case) for case in golden.cases)
        return Look(
            f"{counted(len(golden.cases), 'case')}, {same} answered word for word as before", tuple(problems)
        )


def _case(case: GoldenCase, shown: Shown) -> Iterator[Problem]:
    for what, enough in (
        (f"has {counted(len(case.before), 'run')} of BEFORE, not two", len(case.before) >= _FEWEST_BEFORE),
        ("has no run of AFTER", bool(case.after)),
        ("asserts nothing", bool(case.assertions)),
    ):
        if not enough:
            yield Problem(where=case.case, what=what, next_step="record or write what is missing")
    for assertion in case.assertions:
        yield from _asserted(case, assertion, shown)
    known = {canonical_output(output) for output in case.before}
    for digest, output in {output_sha256(output): output for output in case.after}.items():
        if canonical_output(output) not in known:
            yield Problem(
                where=case.case,
                what=f"AFTER answers otherwise than BEFORE{_likeness(case, output)}",
                next_step=f"read it in the case's file; if it is as good, approve output {digest}",
                approvable_sha256=digest,
            )


def _asserted(case: GoldenCase, assertion: Assertion, shown: Shown) -> Iterator[Problem]:
    said = _words(assertion, shown)
    if not all(holds(assertion, output) for output in case.before):
        yield Problem(
            where=case.case,
            what=f"{said} is not true of BEFORE either",
            next_step="correct the case: it must assert what BEFORE did",
        )
    elif not all(holds(assertion, output) for output in case.after):
        yield Problem(
            where=case.case,
            what=f"{said} is not true of AFTER",
            next_step="repair it so that the answer holds what it must; this cannot be approved",
        )


def _words(assertion: Assertion, shown: Shown) -> str:
    from keepwarm.guard import golden

    match assertion:
        case golden.Contains(text=text):
            return f"contains “{shown.own(text)}”"
        case golden.NotContains(text=text):
            return f"not-contains “{shown.own(text)}”"
        case golden.JsonField(path=path):
            return f"json-field {shown.own(path)}"
        case golden.HasToolCall(name=name):
            return f"tool-call {shown.own(name)}"
        case golden.NoToolCall():
            return "no-tool-call"


def _likeness(case: GoldenCase, output: Output) -> str:
    """How alike AFTER is to BEFORE, beside how alike BEFORE is to itself."""
    from rapidfuzz.distance import Indel

    def alike(a: Output, b: Output) -> float:
        return float(Indel.normalized_similarity(canonical_output(a), canonical_output(b)))

    nearest = max((alike(output, other) for other in case.before), default=0.0)
    floor = min((alike(a, b) for n, a in enumerate(case.before) for b in case.before[n + 1 :]), default=0.0)
    outside = "within" if nearest >= floor else "outside"
    return (
        f": {percent(nearest)} alike, where BEFORE is {percent(floor)} alike to itself "
        f"({outside} the noise floor)"
    )


def _unchanged(case: GoldenCase) -> bool:
    known = {canonical_output(output) for output in case.before}
    return bool(case.after) and all(canonical_output(output) in known for output in case.after)


def _requests(cases: tuple[GoldenCase, ...], evidence: Evidence) -> Iterator[Problem]:
    """Cases that name a request which is not in both traces."""
    named = [case for case in cases if case.request is not None]
    if not named or evidence.before is None or evidence.after is None:
        return
    paired = {pair.before.id for pair in evidence.comparison.pairs}
    for case in named:
        if case.request not in paired:
            yield Problem(
                where=case.case,
                what=f"its request {case.request!r} is not in both traces",
                next_step="record it in both, or correct the case",
            )
