"""``keepwarm simulate serving``: agent sessions on a modelled server, by queue order and eviction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm.cli import options as shared
from keepwarm.cli import serving_options as servers
from keepwarm.cli.output import screen, write_bytes, write_text
from keepwarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from keepwarm.serving.report.base import ServingReport

Sessions = Annotated[
    str,
    typer.Option(
        "--sessions", metavar="N,...", callback=shared.count_list, help="Sessions at the same time."
    ),
]
Timelines = Annotated[
    Path | None,
    typer.Option("--timelines", metavar="DIR", help="Also what happened to each session, a file a run."),
]


def command(
    trace: shared.Trace,
    scheduling: servers.Scheduling = "fcfs",
    eviction: servers.Eviction = "lru",
    sessions: Sessions = "10",
    seed: servers.Seeds = "0",
    profile: servers.ProfileName = "2xh200-32b",
    step_tokens: servers.StepTokens = None,
    capacity_tokens: servers.CapacityTokens = None,
    gap_scale: servers.GapScale = 1.0,
    population: servers.PopulationName = "together",
    host_memory_gib: servers.HostMemory = 0.0,
    reuse_model: servers.ReuseModelFile = None,
    tool_durations: servers.ToolDurations = None,
    processes: servers.Processes = 1,
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
    from keepwarm.serving.grid import combinations, simulate_all
    from keepwarm.serving.report.base import serving_report
    from keepwarm.serving.timeline_files import TimelineFolder, make_folder
    from keepwarm.workload.load import LoadOptions

    evictions = shared.names(eviction)
    base = servers.base_options(
        profile=profile,
        step_tokens=step_tokens,
        capacity_tokens=capacity_tokens,
        gap_scale=gap_scale,
        population=population,
        host_memory_gib=host_memory_gib,
        reuse_model=reuse_model,
    )
    if timelines is not None:
        make_folder(timelines)
    reading = LoadOptions(format, tokenizer, chat_template, block_size)
    with progress_bar() as progress:
        workload, sha256, base = servers.load(
            trace, reading, base, evictions=evictions, tool_durations=tool_durations, progress=progress
        )
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
