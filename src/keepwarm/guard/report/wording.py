"""Words that the terminal and the page share."""

from __future__ import annotations

from keepwarm._text import counted
from keepwarm.guard.base import Answer, Outcome
from keepwarm.guard.verdict import Verdict

HEADLINES: dict[Outcome, str] = {
    "pass": "Every check passes.",
    "fail": "This repair must not be merged.",
    "needs-approval": "A person has to look before this can be merged.",
}


def problems_line(answer: Answer) -> str:
    """How many problems an answer has, in words."""
    return "no problem" if not answer.problems else counted(len(answer.problems), "problem")


def facts(verdict: Verdict) -> list[tuple[str, str]]:
    """What the verdict rests on, a line each."""
    inputs = verdict.inputs
    rows = [
        ("task", f"{verdict.task_id}, finding {verdict.finding}: {verdict.cause} at {verdict.call_site}"),
        ("base", verdict.base),
        ("head", verdict.head),
        ("task file", f"{inputs.task.name} {inputs.task.sha256}"),
    ]
    for name, file in (("before", inputs.before), ("after", inputs.after), ("approvals", inputs.approvals)):
        rows.append((name, "not given" if file is None else f"{file.name} {file.sha256}"))
    golden = "not given" if inputs.golden is None else counted(len(inputs.golden), "case")
    return [*rows, ("golden", golden), ("tests", inputs.tests or "not given")]


def approvals(verdict: Verdict) -> list[str]:
    """What became of each approval, a line each."""
    used = [
        f"used: {entry.case} ({entry.check}), by {entry.approver}: {entry.reason}"
        for entry in verdict.approvals_used
    ]
    unused = [
        f"{item.why}, helps nothing: {item.approval.case} ({item.approval.check}), "
        f"by {item.approval.approver}, for {item.approval.sha256[:12]}"
        for item in verdict.approvals_unused
    ]
    return used + unused
