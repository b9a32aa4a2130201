"""The verdict for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from keepwarm._console import facts, heading, to_text
from keepwarm._text import visible
from keepwarm.guard.base import Answer, Outcome, Problem
from keepwarm.guard.report import wording
from keepwarm.guard.verdict import Verdict

_STYLES: dict[Outcome, str] = {"pass": "green", "fail": "red", "needs-approval": "yellow"}
_OUTPUT_LINES = 20


def render_verdict(verdict: Verdict, *, width: int, colour: bool, digest: str) -> str:
    """The whole verdict; of a failed run of the tests, the end of what they printed."""
    return to_text(Group(*_parts(verdict, digest)), width=width, colour=colour)


def _parts(verdict: Verdict, digest: str) -> Iterator[RenderableType]:
    style = _STYLES[verdict.outcome]
    yield Text(f"{verdict.outcome}: {wording.HEADLINES[verdict.outcome]}", style=f"bold {style}")
    yield facts((name, visible(value)) for name, value in wording.facts(verdict))
    for answer in verdict.answers:
        yield Text()
        yield heading(f"{answer.check}: {answer.outcome}")
        yield from _answer(answer)
    lines = wording.approvals(verdict)
    if lines:
        yield Text()
        yield heading("Approvals")
        yield from (Text(visible(line)) for line in lines)
    yield Text()
    yield Text(f"verdict {digest}", style="dim")


def _answer(answer: Answer) -> Iterator[RenderableType]:
    yield Text(visible(answer.looked_at), style="dim")
    for problem in answer.problems:
        yield from _problem(problem)
    if answer.output and answer.outcome != "pass":
        yield Text("The end of what was printed:", style="dim")
        for line in answer.output.splitlines()[-_OUTPUT_LINES:]:
            yield Padding(Text(visible(line)), (0, 0, 0, 2))


def _problem(problem: Problem) -> Iterator[RenderableType]:
    yield Text(f"- {visible(problem.where)}: {visible(problem.what)}")
    yield Padding(Text(f"next: {visible(problem.next_step)}", style="dim"), (0, 0, 0, 2))
    if problem.approvable_sha256 is not None:
        yield Padding(Text(f"to approve: {problem.approvable_sha256}", style="dim"), (0, 0, 0, 2))
