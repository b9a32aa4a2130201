"""``keepwarm diagnose``: what misses the cache, why, whose it is, and what it would give back."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm._errors import GateRefusal
from keepwarm.cli import options as shared
from keepwarm.cli.output import say_resumed, screen, write_bytes, write_error, write_text
from keepwarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from keepwarm._resources import Resources
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
    sample: shared.Sample = None,
    out: Out = None,
    fail_under: FailUnder = None,
    json: shared.Json = False,
    reveal: shared.Reveal = False,
    top: Top = 10,
    memory: shared.Memory = None,
    spill: shared.Spill = None,
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
        sample=sample,
    )
    resources = shared.resources(memory, spill)
    with _diagnosed(trace, options, resources, out=out, reveal=reveal) as (diagnosis, written):
        if json:
            from keepwarm._json import to_json
            from keepwarm.diagnose.report.as_json import diagnosis_document

            write_bytes(to_json(diagnosis_document(diagnosis, revealed=reveal)))
        else:
            from keepwarm.diagnose.report.terminal import render_report

            steps = _next_steps(diagnosis, trace, options, written=written, reveal=reveal)
            width, colour = screen()
            write_text(render_report(diagnosis, width=width, colour=colour, top=top, next_steps=steps))
    _gate(diagnosis, fail_under)


@contextlib.contextmanager
def _diagnosed(
    trace: str, options: Options, resources: Resources, *, out: Path | None, reveal: bool
) -> Iterator[tuple[Diagnosis, Written | None]]:
    """The diagnosis as it may be shown, and the files written if any were asked for."""
    from keepwarm.diagnose.engine import examining
    from keepwarm.diagnose.report.files import check_directory, report_of, write_report
    from keepwarm.diagnose.report.mask import masked

    if out is not None:
        check_directory(out)
    with contextlib.ExitStack() as examined:
        with progress_bar() as progress:
            examination = examined.enter_context(
                examining(trace, options, progress, resources=resources, on_resume=say_resumed)
            )
        if out is None:
            diagnosis = examination.diagnosis
            yield diagnosis if reveal else masked(diagnosis), None
        else:
            report = report_of(examination, revealed=reveal)
            yield report.diagnosis, write_report(report, out, revealed=reveal)


def _gate(diagnosis: Diagnosis, fail_under: float | None) -> None:
    """Judge the hit rate, a sample's by its estimate; say where the whole trace may be judged otherwise."""
    if fail_under is None:
        return
    off = 0.0 if diagnosis.sample is None else diagnosis.sample.hit_rate_error
    said = f"the simulated hit rate {diagnosis.hit_rate:.6g}" + (f" ± {off:.2g} of the sample" if off else "")
    unsure = off and abs(diagnosis.hit_rate - fail_under) <= off
    doubt = "; the interval spans the gate: a larger --sample would tell" if unsure else ""
    if diagnosis.hit_rate < fail_under:
        raise GateRefusal(f"{said} is below --fail-under {fail_under:g}{doubt}")
    if unsure:
        write_error(f"{said} is not below --fail-under {fail_under:g}{doubt}")


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
