"""``keepwarm diagnose``: what misses the cache, why, whose it is, and what it would give back."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm._errors import GateRefusal
from keepwarm.cli import options as shared
from keepwarm.cli.output import screen, write_bytes, write_text
from keepwarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from keepwarm.diagnose.findings import Diagnosis
    from keepwarm.diagnose.options import Options
    from keepwarm.diagnose.report.files import Written

Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Also write the report as files there, which 'keepwarm serve' opens."
    ),
]
FailUnder = Annotated[
    float | None,
    typer.Option(
        "--fail-under",
        metavar="RATE",
        callback=shared.rate,
        help="Exit 1 if the hit rate is below it (0 to 1).",
    ),
]
Top = Annotated[
    int, typer.Option("--top", metavar="N", min=1, help="Findings to show in the terminal report.")
]


def command(
    trace: shared.Trace,
    format: shared.Format = "auto",  # noqa: A002 - the option's name in the contract
    tokenizer: shared.Tokenizer = None,
    chat_template: shared.ChatTemplate = None,
    block_size: shared.BlockSize = None,
    capacity_blocks: shared.CapacityBlocks = None,
    ttl_s: shared.TtlS = None,
    out: Out = None,
    fail_under: FailUnder = None,
    json: shared.Json = False,
    reveal: shared.Reveal = False,
    top: Top = 10,
) -> None:
    """Say what misses the prefix cache and why.

    Names the call site, the token, the cause, who can fix it and what a fix gives back.
    """
    options = shared.trace_options(
        format=format,
        tokenizer=tokenizer,
        chat_template=chat_template,
        block_size=block_size,
        capacity_blocks=capacity_blocks,
        ttl_s=ttl_s,
    )
    diagnosis, written = _diagnose(trace, options, out=out, reveal=reveal)
    if json:
        from keepwarm._json import to_json
        from keepwarm.diagnose.report.as_json import diagnosis_document

        write_bytes(to_json(diagnosis_document(diagnosis, revealed=reveal)))
    else:
        from keepwarm.diagnose.report.terminal import render_report

        steps = _next_steps(diagnosis, trace, options, written=written, reveal=reveal)
        width, colour = screen()
        write_text(render_report(diagnosis, width=width, colour=colour, top=top, next_steps=steps))
    _gate(diagnosis.hit_rate, fail_under)


def _diagnose(
    trace: str, options: Options, *, out: Path | None, reveal: bool
) -> tuple[Diagnosis, Written | None]:
    """The diagnosis as it may be shown, and the files written if any were asked for."""
    from keepwarm.diagnose import diagnose
    from keepwarm.diagnose.engine import examine
    from keepwarm.diagnose.report.files import check_directory, report_of, write_report
    from keepwarm.diagnose.report.mask import masked

    if out is None:
        with progress_bar() as progress:
            diagnosis = diagnose(trace, options, progress)
        return diagnosis if reveal else masked(diagnosis), None
    check_directory(out)
    with progress_bar() as progress:
        examination = examine(trace, options, progress)
    report = report_of(examination, revealed=reveal)
    return report.diagnosis, write_report(report, out, revealed=reveal)


def _gate(hit_rate: float, fail_under: float | None) -> None:
    if fail_under is not None and hit_rate < fail_under:
        raise GateRefusal(f"the simulated hit rate {hit_rate:.6g} is below --fail-under {fail_under:g}")


def _next_steps(
    diagnosis: Diagnosis, trace: str, options: Options, *, written: Written | None, reveal: bool
) -> list[tuple[str, str]]:
    """Commands worth typing next, ready to copy."""
    from keepwarm._text import visible
    from keepwarm.diagnose.report.wording import by_recovery

    call = f"{shlex.quote(trace)}{shared.words(options)}"
    steps = []
    if diagnosis.findings:
        first = by_recovery(diagnosis)[0]
        if first.evidence.request is not None:
            request = shlex.quote(first.evidence.request)
            steps.append((f"keepwarm explain {call} {request}", "the request behind finding 1"))
        steps.append((f"keepwarm causes {first.cause}", "what this cause is and how it is fixed"))
        if not reveal and any(finding.evidence.values for finding in diagnosis.findings):
            steps.append((f"keepwarm diagnose {call} --reveal", "show the values that vary"))
    if written is None:
        steps.append((f"keepwarm diagnose {call} --out report", "HTML, JSON and Parquet"))
    else:
        steps.append((f"keepwarm serve {shlex.quote(str(written.html.parent))}", "all of it, as a dashboard"))
        steps.append((str(written.html), "the report, for a browser"))
        steps.append((str(written.parquet), "a row per request"))
    return [(visible(command), purpose) for command, purpose in steps]
