"""``keepwarm reuse``: fit the predictor of when idle sessions come back, and say how good it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm._errors import InputError
from keepwarm.cli import options as shared
from keepwarm.cli.output import screen, write_bytes, write_error, write_text

if TYPE_CHECKING:
    from keepwarm.reuse.durations.read import Durations

_MOST_CLUSTERS = 256

app = typer.Typer(help="Predict when idle sessions come back, from their tool calls.", rich_markup_mode=None)


def _cluster_list(value: str) -> str:
    checked = shared.count_list(value)
    if max(shared.counts(checked)) > _MOST_CLUSTERS:
        raise typer.BadParameter(f"{value!r} asks for more than {_MOST_CLUSTERS} clusters a tool")
    return value


def _share(value: float) -> float:
    if not 0 < value < 1:
        raise typer.BadParameter(f"{value!r} is no share of the tasks; write 0.3 for 30%")
    return value


_TRACES_HELP = (
    "Transcripts of Claude Code, Codex, SWE-agent, mini-swe-agent, OpenHands, or CSV; .gz and .zst too."
)
Traces = Annotated[list[str], typer.Argument(metavar="TRACE...", help=_TRACES_HELP, show_default=False)]
MaybeTraces = Annotated[
    list[str] | None, typer.Argument(metavar="[TRACE...]", help=_TRACES_HELP, show_default=False)
]
CensoredAt = Annotated[
    float | None,
    typer.Option(
        "--censored-at",
        metavar="SECONDS",
        callback=shared.seconds,
        help="Where the recorder cut calls off. Without it: what the file declares (Terminal-Bench: 30).",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of clusters, splits and draws.")]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The model, as JSON.")]
Clusters = Annotated[
    int,
    typer.Option(
        "--clusters", metavar="N", min=0, max=_MOST_CLUSTERS, help="Most clusters a tool; 30 calls each."
    ),
]
ClusterSteps = Annotated[
    str,
    typer.Option(
        "--clusters", metavar="N,...", callback=_cluster_list, help="Most clusters a tool, a row for each."
    ),
]
Splits = Annotated[int, typer.Option("--splits", metavar="N", min=1, max=1000, help="Divisions by task.")]
HeldOut = Annotated[
    float,
    typer.Option("--held-out", metavar="SHARE", callback=_share, help="Share of the tasks to judge on."),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="FILE", help="Judge this model on all calls, or describe it."),
]


def fit_command(
    traces: Traces,
    output: Output,
    clusters: Clusters = 50,
    seed: Seed = 0,
    censored_at: CensoredAt = None,
) -> None:
    """Fit the predictor on recorded tool calls; needs the extra reuse."""
    from keepwarm._files import check_apart, write_whole
    from keepwarm._text import count, counted
    from keepwarm.reuse.fit import FitOptions, fit, scikit_learn_version
    from keepwarm.reuse.model import dumps

    scikit_learn_version()
    check_apart({f"the trace {trace!r}": Path(trace) for trace in traces}, {"--output": output})
    durations = _durations(traces, censored_at)
    model = fit(durations.durations, FitOptions(clusters=clusters, seed=seed), durations.sources)
    write_whole(output, dumps(model))
    for note in durations.notes:
        write_error(note)
    carried = sum(len(tool.clusters) for tool in model.tools.values())
    write_text(
        f"{output}: {counted(model.fitted.samples, 'call')}, {count(model.fitted.censored)} cut off; "
        f"{counted(len(model.tools), 'tool')}, {counted(carried, 'cluster')}; "
        f"scikit-learn {model.fitted.scikit_learn}\n"
    )


def report_command(
    traces: MaybeTraces = None,
    model: Model = None,
    clusters: ClusterSteps = "20,50,100",
    splits: Splits = 10,
    held_out: HeldOut = 0.3,
    seed: Seed = 0,
    censored_at: CensoredAt = None,
    json: shared.Json = False,
) -> None:
    """How well each step of the ladder orders calls of tasks it was not fitted on."""
    from keepwarm.reuse.report.document import load_model, report_document, reuse_report
    from keepwarm.reuse.report.held_out import SplitOptions

    fitted = None if model is None else load_model(model)
    durations = _durations(traces, censored_at) if traces else None
    options = SplitOptions(shared.counts(clusters), splits=splits, held_out=held_out, seed=seed)
    report = reuse_report(durations, fitted, options)
    if json:
        from keepwarm._json import to_json

        write_bytes(to_json(report_document(report)))
        return
    from keepwarm.reuse.report.text import render_report

    width, colour = screen()
    write_text(render_report(report, width=width, colour=colour))


def _durations(traces: list[str], censored_at: float | None) -> Durations:
    from keepwarm.reuse.durations.read import read_durations

    if not traces:
        raise InputError("no transcript named; name files of recorded tool calls")
    return read_durations(traces, censored_at)


app.command("fit")(fit_command)
app.command("report")(report_command)
