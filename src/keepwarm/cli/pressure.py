"""``keepwarm pressure``: does a hot prefix survive a flood of one-use prompts on a running vLLM?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm._errors import GateRefusal, InputError, ServerError
from keepwarm.cli import options as shared
from keepwarm.cli.output import screen, write_bytes, write_text
from keepwarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from keepwarm.canary.pressure import PressureOptions, PressureReport, PressureStep

BaseUrl = Annotated[
    str, typer.Option("--base-url", metavar="URL", help="The running vLLM server.", show_default=False)
]
HotTokens = Annotated[
    int | None,
    typer.Option(
        "--hot-tokens",
        metavar="N",
        min=1,
        help="Length of the hot prefix. Without it: the blocks that ComputeCache may protect.",
    ),
]
Flood = Annotated[
    str | None,
    typer.Option(
        "--flood",
        metavar="N,...",
        callback=shared.count_list,
        help="One-use requests since the start, after which the hot prefix is replayed. "
        "Without it: 1,2,4,8,16,40,80.",
    ),
]
FloodTokens = Annotated[
    int | None,
    typer.Option(
        "--flood-tokens",
        metavar="N",
        min=1,
        help="Length of a one-use prompt. Without it: as long as the model allows.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="ID", help="Model to ask. Without it: the first the server lists."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Decides the prompts.")]
Repeat = Annotated[
    int,
    typer.Option(
        "--repeat", metavar="N", min=1, help="Hot requests after each batch; the first is the result."
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Also write the JSON document there.")
]
FailUnlessPreserved = Annotated[
    bool,
    typer.Option("--fail-unless-preserved", help="Exit 1 if less than 95% of the hot prefix stayed cached."),
]


def command(
    base_url: BaseUrl,
    hot_tokens: HotTokens = None,
    flood: Flood = None,
    flood_tokens: FloodTokens = None,
    model: Model = None,
    seed: Seed = 0,
    repeat: Repeat = 1,
    out: Out = None,
    fail_unless_preserved: FailUnlessPreserved = False,
    json: shared.Json = False,
) -> None:
    """Flood a running vLLM with one-use prompts, and measure what is left of a hot prefix.

    The server's cache is emptied first where it allows that. Everything is sized in tokens from its limits.
    """
    from keepwarm._files import write_whole
    from keepwarm._json import to_json
    from keepwarm.canary.pressure import DEFAULT_FLOOD, PressureOptions
    from keepwarm.canary.pressure.report import pressure_document

    options = PressureOptions(
        hot_tokens=hot_tokens,
        flood=shared.counts(flood) or DEFAULT_FLOOD,
        flood_tokens=flood_tokens,
        model=model,
        seed=seed,
        repeat=repeat,
    )
    if out is not None:
        _check_out(out)
    report = _run(base_url, options)
    document = to_json(pressure_document(report))
    if out is not None:
        write_whole(out, document)
    if json:
        write_bytes(document)
    else:
        from keepwarm.canary.pressure.terminal import render_pressure

        width, colour = screen()
        write_text(render_pressure(report, width=width, colour=colour))
    _gate(report, fail_unless_preserved)


def _check_out(path: Path) -> None:
    """Before the work: that a file can be written there."""
    if path.is_dir():
        raise InputError(f"--out {str(path)!r} is a folder; name a file")
    if not (path.parent.is_dir() and os.access(path.parent, os.W_OK | os.X_OK)):
        raise InputError(
            f"--out {str(path)!r}: no folder {str(path.parent)!r} that can be written; name another"
        )


def _run(base_url: str, options: PressureOptions) -> PressureReport:
    from keepwarm.canary.pressure import run_pressure

    with progress_bar() as progress:
        if progress is not None:
            progress.stage("one-use requests", options.flood[-1])

        def on_step(step: PressureStep) -> None:
            if progress is not None:
                progress.advance(step.batch_requests)

        return run_pressure(base_url, options, api_key=shared.api_key(), on_step=on_step)


def _gate(report: PressureReport, fail_unless_preserved: bool) -> None:
    if not report.consistent:
        raise ServerError(
            f"the run is inconsistent: {report.inconsistencies[0]}; repeat it with nobody else on the server"
        )
    if fail_unless_preserved and not report.hot_prefix_preserved:
        raise GateRefusal(_refusal(report))


def _refusal(report: PressureReport) -> str:
    from keepwarm._text import counted

    if report.failed_requests:
        failed = counted(report.failed_requests, "request")
        return f"{failed} failed, so the hot prefix was not shown to be preserved"
    least = min(step.cached_tokens or 0 for step in report.steps)
    return (
        f"the hot prefix was not preserved: {least} of {report.warm_prefix_cached_tokens} cached tokens "
        "were left at the worst step"
    )
