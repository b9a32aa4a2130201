"""``keepwarm verify``: whether a repair changed what it should and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm._errors import GateRefusal
from keepwarm.cli import options as shared
from keepwarm.cli.output import screen, write_bytes, write_text
from keepwarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from keepwarm.guard.verdict import Verdict

Repo = Annotated[Path, typer.Option("--repo", metavar="DIR", help="The git repository.", show_default=False)]
Base = Annotated[
    str, typer.Option("--base", metavar="REV", help="The commit without the repair.", show_default=False)
]
Head = Annotated[
    str, typer.Option("--head", metavar="REV", help="The commit with the repair.", show_default=False)
]
TaskFile = Annotated[
    Path,
    typer.Option("--task", metavar="FILE", help="task.json, as task export wrote it.", show_default=False),
]
Before = Annotated[
    Path | None, typer.Option("--before", metavar="TRACE", help="Requests recorded without the repair.")
]
After = Annotated[
    Path | None, typer.Option("--after", metavar="TRACE", help="The same requests, recorded with it.")
]
Golden = Annotated[
    Path | None,
    typer.Option("--golden", metavar="DIR", help="Golden cases: what the model answered before and after."),
]
Tests = Annotated[
    str | None,
    typer.Option(
        "--tests", metavar="CMD", help="Runs the project's tests, in a clean checkout and without a shell."
    ),
]
TestsLimit = Annotated[
    float, typer.Option("--tests-limit-s", metavar="S", callback=shared.seconds, help="Time the tests get.")
]
Approve = Annotated[
    Path | None, typer.Option("--approve", metavar="FILE", help="Approvals of what a person has looked at.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Also write verdict.json, verdict.html and outputs.json there."
    ),
]


def command(
    repo: Repo,
    base: Base,
    head: Head,
    task: TaskFile,
    before: Before = None,
    after: After = None,
    golden: Golden = None,
    tests: Tests = None,
    tests_limit_s: TestsLimit = 900.0,
    approve: Approve = None,
    out: Out = None,
    format: shared.Format = "auto",  # noqa: A002 - the option's name in the contract
    tokenizer: shared.Tokenizer = None,
    chat_template: shared.ChatTemplate = None,
    block_size: shared.BlockSize = None,
    capacity_blocks: shared.CapacityBlocks = None,
    json: shared.Json = False,
    reveal: shared.Reveal = False,
) -> None:
    """Say whether a repair changed what it should and nothing else.

    One answer per check: pass, fail or needs-approval. Evidence that is not given is a fail.
    """
    from keepwarm.diagnose.report.files import check_directory
    from keepwarm.guard.base import Evidence
    from keepwarm.guard.outputs import changed_outputs
    from keepwarm.guard.report.files import write_verdict
    from keepwarm.guard.verify import read_task, verify

    if out is not None:
        check_directory(out)
    evidence = Evidence(
        repository=repo,
        base=base,
        head=head,
        task=read_task(task),
        before=before,
        after=after,
        golden=golden,
        tests=tests,
        tests_limit_s=tests_limit_s,
        options=shared.trace_options(
            format=format,
            tokenizer=tokenizer,
            chat_template=chat_template,
            block_size=block_size,
            capacity_blocks=capacity_blocks,
            ttl_s=None,
        ),
        reveal=reveal,
    )
    with progress_bar() as progress:
        verdict = verify(evidence, task, approve, progress)
    if out is not None:
        write_verdict(verdict, out, changed_outputs(evidence))
    _show(verdict, json=json)
    _gate(verdict)


def _show(verdict: Verdict, *, json: bool) -> None:
    from keepwarm._json import to_json
    from keepwarm.guard.report.terminal import render_verdict
    from keepwarm.guard.verdict import verdict_document

    document = verdict_document(verdict)
    if json:
        write_bytes(to_json(document))
        return
    width, colour = screen()
    write_text(render_verdict(verdict, width=width, colour=colour, digest=document["digest"]))


def _gate(verdict: Verdict) -> None:
    """Raises GateRefusal with every check that refuses and the next step of the first."""
    refusing = [answer for answer in verdict.answers if answer.outcome != "pass"]
    if not refusing:
        return
    said = ", ".join(f"{answer.check} says {answer.outcome}" for answer in refusing)
    first = refusing[0].problems[0]
    raise GateRefusal(f"{said}; first {first.where}: {first.what}; {first.next_step}")
