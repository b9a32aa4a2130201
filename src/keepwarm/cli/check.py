"""``keepwarm check``: whether a trace lost hits, or gained findings, since its baseline."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm._errors import GateRefusal
from keepwarm.cli import options as shared
from keepwarm.cli.output import screen, write_bytes, write_text
from keepwarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from keepwarm.diagnose.options import Options
    from keepwarm.gate.files import SummaryFile
    from keepwarm.gate.verdict import Verdict

BaselineFile = Annotated[
    Path,
    typer.Option(
        "--baseline", metavar="FILE", help="The committed baseline to compare with.", show_default=False
    ),
]
MaxDrop = Annotated[
    float,
    typer.Option(
        "--max-drop", metavar="POINTS", min=0, max=100, help="Percentage points a hit rate may fall by."
    ),
]
WriteBaseline = Annotated[
    bool, typer.Option("--write-baseline", help="Write the baseline instead of comparing with it.")
]
Sarif = Annotated[
    Path | None, typer.Option("--sarif", metavar="FILE", help="Also write SARIF 2.1.0, for code scanning.")
]
Summary = Annotated[
    str | None,
    typer.Option(
        "--summary",
        metavar="FILE|auto",
        help="Also write a summary in Markdown; auto: add it to the job summary, where this runs on GitHub.",
    ),
]
TaskFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--task", metavar="FILE", help="A task.json whose places in the source go into the SARIF file."
    ),
]
_REFUSALS_SAID = 3


def command(
    trace: shared.Trace,
    baseline: BaselineFile,
    max_drop: MaxDrop = 1.0,
    write_baseline: WriteBaseline = False,
    sarif: Sarif = None,
    summary: Summary = None,
    task: TaskFiles = None,
    format: shared.Format = "auto",  # noqa: A002 - the option's name in the contract
    tokenizer: shared.Tokenizer = None,
    chat_template: shared.ChatTemplate = None,
    block_size: shared.BlockSize = None,
    capacity_blocks: shared.CapacityBlocks = None,
    ttl_s: shared.TtlS = None,
    json: shared.Json = False,
) -> None:
    """Compare a trace with its baseline: lower hit rates and new findings are refused.

    Exit 1 names what got worse. What got better is said, too.
    """
    from keepwarm.gate.files import check_places, summary_file

    if write_baseline and (sarif is not None or json):
        raise typer.BadParameter("--write-baseline compares nothing; leave out --sarif and --json")
    options = shared.trace_options(
        format=format,
        tokenizer=tokenizer,
        chat_template=chat_template,
        block_size=block_size,
        capacity_blocks=capacity_blocks,
        ttl_s=ttl_s,
    )
    report = summary_file(summary, os.environ)
    written = {"--sarif": sarif, "--summary": report and report.path}
    if write_baseline:
        check_places({"the trace": Path(trace)}, {"--baseline": baseline, **written})
    else:
        check_places({"the trace": Path(trace), "--baseline": baseline}, written)
    if write_baseline:
        _write(trace, options, baseline, report)
        return
    verdict = _check(trace, options, baseline, max_drop=max_drop, sarif=sarif, tasks=task or [])
    _show(verdict, baseline, report, json=json)
    if verdict.refusals:
        raise GateRefusal(_refusal(verdict, trace, options, baseline))


def _write(trace: str, options: Options, baseline: Path, summary: SummaryFile | None) -> None:
    from keepwarm.gate.baseline import write_baseline
    from keepwarm.gate.check import fresh_baseline
    from keepwarm.gate.files import write_summary
    from keepwarm.gate.report.summary import render_written
    from keepwarm.gate.report.wording import written_line

    with progress_bar() as progress:
        fresh = fresh_baseline(trace, options, baseline, progress=progress)
    write_baseline(baseline, fresh.baseline)
    if summary is not None:
        write_summary(summary, render_written(fresh.diagnosis, str(baseline)))
    write_text(written_line(fresh.baseline, str(baseline)))


def _check(
    trace: str, options: Options, baseline: Path, *, max_drop: float, sarif: Path | None, tasks: list[Path]
) -> Verdict:
    from keepwarm._files import write_whole
    from keepwarm._json import to_json
    from keepwarm.gate.check import check_trace
    from keepwarm.gate.files import read_tasks
    from keepwarm.gate.report.sarif import sarif_document

    known = read_tasks(tasks)
    with progress_bar() as progress:
        verdict = check_trace(trace, options, baseline, max_drop_points=max_drop, progress=progress)
    if sarif is not None:
        write_whole(sarif, to_json(sarif_document(verdict, Path(trace), known)))
    return verdict


def _show(verdict: Verdict, baseline: Path, summary: SummaryFile | None, *, json: bool) -> None:
    from keepwarm.gate.files import write_summary
    from keepwarm.gate.report.summary import render_summary

    if summary is not None:
        write_summary(summary, render_summary(verdict))
    if json:
        from keepwarm._json import to_json
        from keepwarm.gate.report.document import check_document

        write_bytes(to_json(check_document(verdict, baseline)))
        return
    from keepwarm.gate.report.terminal import render_check

    width, colour = screen()
    write_text(render_check(verdict, width=width, colour=colour))


def _refusal(verdict: Verdict, trace: str, options: Options, baseline: Path) -> str:
    """What got worse, in one line, and what to type where that is meant."""
    said = list(verdict.refusals[:_REFUSALS_SAID])
    more = len(verdict.refusals) - len(said)
    if more:
        said.append(f"and {more} more")
    call = f"{shlex.quote(trace)} --baseline {shlex.quote(str(baseline))}{shared.words(options)}"
    return f"{'; '.join(said)}. If that is meant: keepwarm check {call} --write-baseline"
