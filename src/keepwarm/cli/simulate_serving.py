"""``keepwarm simulate serving``: agent sessions on a modelled server, by queue order and eviction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm._errors import InputError
from keepwarm.cli import options as shared
from keepwarm.cli.output import screen, write_bytes, write_text
from keepwarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from keepwarm.reuse.predictor import ReuseModel
    from keepwarm.serving.options import Population
    from keepwarm.serving.report.base import ServingReport


def _seed_list(value: str) -> str:
    if not all(word.isascii() and word.isdigit() and len(word) < 20 for word in shared.names(value)):
        raise typer.BadParameter(f"{value[:80]!r} is not a list of whole numbers; write 0,1,2")
    return value


def _scale(value: float) -> float:
    if not 0 <= value < float("inf"):
        raise typer.BadParameter(f"{value!r} is not a factor; write 1 for the recorded gaps")
    return value


Scheduling = Annotated[
    str,
    typer.Option("--scheduling", metavar="NAME,...", callback=shared.name_list, help="Queue orders."),
]
Eviction = Annotated[
    str, typer.Option("--eviction", metavar="NAME,...", callback=shared.name_list, help="Evictions.")
]
Sessions = Annotated[
    str,
    typer.Option(
        "--sessions", metavar="N,...", callback=shared.count_list, help="Sessions at the same time."
    ),
]
Seeds = Annotated[
    str,
    typer.Option(
        "--seed", metavar="N,...", callback=_seed_list, help="Which sessions of the trace, in which order."
    ),
]
ProfileName = Annotated[
    str,
    typer.Option("--profile", metavar="FILE|NAME", help="The server; a wrong name lists those that ship."),
]
StepTokens = Annotated[
    int | None,
    typer.Option("--step-tokens", metavar="N", min=1, help="Tokens of a step. Without it: the profile's."),
]
CapacityTokens = Annotated[
    int | None,
    typer.Option(
        "--capacity-tokens",
        metavar="N",
        min=1,
        help="Tokens that the cache holds. Without it: the profile's.",
    ),
]
GapScale = Annotated[
    float,
    typer.Option("--gap-scale", metavar="X", callback=_scale, help="Times the gaps between requests."),
]
PopulationName = Annotated[
    str,
    typer.Option(
        "--population",
        metavar="together|constant",
        help="All start together, or one that ends is replaced.",
    ),
]
HostMemory = Annotated[
    float,
    typer.Option(
        "--host-memory-gib",
        metavar="GIB",
        callback=_scale,
        help="Evicted blocks go to host memory of this size and are read back.",
    ),
]
ReuseModelFile = Annotated[
    Path | None,
    typer.Option(
        "--reuse-model",
        metavar="FILE",
        help="What eviction cachewise predicts by. Without it: a fit to --tool-durations.",
    ),
]
ToolDurations = Annotated[
    Path | None,
    typer.Option(
        "--tool-durations",
        metavar="FILE",
        help="Tool calls to draw a command and its duration from, for traces that name none.",
    ),
]
Processes = Annotated[
    int, typer.Option("--processes", metavar="N", min=1, max=256, help="Runs computed at once.")
]
Timelines = Annotated[
    Path | None,
    typer.Option("--timelines", metavar="DIR", help="Also what happened to each session, a file a run."),
]


def command(
    trace: shared.Trace,
    scheduling: Scheduling = "fcfs",
    eviction: Eviction = "lru",
    sessions: Sessions = "10",
    seed: Seeds = "0",
    profile: ProfileName = "2xh200-32b",
    step_tokens: StepTokens = None,
    capacity_tokens: CapacityTokens = None,
    gap_scale: GapScale = 1.0,
    population: PopulationName = "together",
    host_memory_gib: HostMemory = 0.0,
    reuse_model: ReuseModelFile = None,
    tool_durations: ToolDurations = None,
    processes: Processes = 1,
    timelines: Timelines = None,
    format: shared.Format = "auto",  # noqa: A002 - the option's name in the contract
    tokenizer: shared.Tokenizer = None,
    chat_template: shared.ChatTemplate = None,
    block_size: shared.BlockSize = None,
    json: shared.Json = False,
) -> None:
    """Sessions of a trace as closed loops on a modelled server, simulated.

    The next request of a session comes a gap after the answer to the one before.
    """
    from keepwarm.serving.commands import with_commands
    from keepwarm.serving.grid import combinations, simulate_all
    from keepwarm.serving.options import ServingOptions
    from keepwarm.serving.profile import load_profile
    from keepwarm.serving.report.base import serving_report
    from keepwarm.serving.timeline_files import TimelineFolder, make_folder
    from keepwarm.workload.load import LoadOptions, load_recording

    evictions = shared.names(eviction)
    base = ServingOptions(
        profile=load_profile(profile),
        step_tokens=step_tokens,
        capacity_tokens=capacity_tokens,
        gap_scale=gap_scale,
        population=_population(population),
        host_memory_gib=host_memory_gib,
        reuse_model=_model(reuse_model),
    )
    if timelines is not None:
        make_folder(timelines)
    with progress_bar() as progress:
        recording = load_recording(
            trace, LoadOptions(format, tokenizer, chat_template, block_size), progress=progress
        )
        workload, sha256 = recording.workload, recording.trace.sha256
        if tool_durations is not None:
            wants_model = base.reuse_model is None and "cachewise" in evictions
            commanded = with_commands(workload, tool_durations, gap_scale=gap_scale, wants_model=wants_model)
            workload = commanded.workload
            base = replace(base, reuse_model=base.reuse_model or commanded.model)
        runs = combinations(
            base,
            scheduling=shared.names(scheduling),
            eviction=evictions,
            sessions=shared.counts(sessions),
            seeds=[int(word) for word in shared.names(seed)],
        )
        folder = None if timelines is None else TimelineFolder(timelines, sha256)
        rows = simulate_all(workload, runs, processes=processes, progress=progress, timelines=folder)
    _write(serving_report(trace, workload, base, rows, trace_sha256=sha256), json=json)


def _write(report: ServingReport, *, json: bool) -> None:
    if json:
        from keepwarm._json import to_json
        from keepwarm.serving.report.as_json import report_document

        write_bytes(to_json(report_document(report)))
        return
    from keepwarm.serving.report.terminal import render_report

    width, colour = screen()
    write_text(render_report(report, width=width, colour=colour))


def _population(name: str) -> Population:
    from keepwarm.serving.options import Population

    try:
        return Population(name)
    except ValueError:
        raise InputError(f"no population {name!r}; there are together, constant") from None


def _model(path: Path | None) -> ReuseModel | None:
    from keepwarm.reuse.model import ModelError, load

    try:
        return None if path is None else load(path)
    except ModelError as error:
        raise InputError(str(error)) from None
