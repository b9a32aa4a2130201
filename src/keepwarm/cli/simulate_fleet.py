"""``keepwarm simulate fleet``: agent sessions on several modelled servers behind a balancer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm.cli import options as shared
from keepwarm.cli import serving_options as servers
from keepwarm.cli.output import screen, write_bytes, write_text
from keepwarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from keepwarm.fleet.report.base import FleetReport


def _bound(value: float) -> float:
    if not 1 <= value < float("inf"):
        raise typer.BadParameter(f"{value!r} is not a factor of the mean load; write 1 or more")
    return value


Replicas = Annotated[
    str, typer.Option("--replicas", metavar="N,...", callback=shared.count_list, help="Servers.")
]
Balancers = Annotated[
    str,
    typer.Option(
        "--balancer",
        metavar="NAME,...",
        callback=shared.name_list,
        help="Who sends requests to them; a wrong name lists those that there are.",
    ),
]
LoadBound = Annotated[
    float,
    typer.Option(
        "--load-bound", metavar="X", callback=_bound, help="For prefix-bounded: times the mean load."
    ),
]
Sessions = Annotated[
    str,
    typer.Option(
        "--sessions",
        metavar="N,...",
        callback=shared.count_list,
        help="Sessions at the same time, per server.",
    ),
]


def command(
    trace: shared.Trace,
    replicas: Replicas = "1,2,4",
    balancer: Balancers = "round-robin,least-loaded,sticky,longest-prefix,prefix-bounded",
    load_bound: LoadBound = 1.25,
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
    format: shared.Format = "auto",  # noqa: A002 - the option's name in the contract
    tokenizer: shared.Tokenizer = None,
    chat_template: shared.ChatTemplate = None,
    block_size: shared.BlockSize = None,
    json: shared.Json = False,
) -> None:
    """Sessions of a trace as closed loops on modelled servers behind a balancer, simulated.

    Other rules than fcfs and lru are compared with these, and with one server of as many sessions.
    """
    from keepwarm.fleet.grid import fleets, simulate_fleets
    from keepwarm.fleet.report.base import fleet_report
    from keepwarm.serving.grid import combinations
    from keepwarm.serving.report.base import serving_report
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
        balancers, counts = shared.names(balancer), shared.counts(replicas)
        wanted = fleets(runs, balancers=balancers, replicas=counts, load_bound=load_bound)
        found = simulate_fleets(workload, wanted, processes=processes, progress=progress)
    each = serving_report(trace, workload, base, (), trace_sha256=sha256)
    _write(fleet_report(each, found, load_bound=load_bound), json=json)


def _write(report: FleetReport, *, json: bool) -> None:
    if json:
        from keepwarm._json import to_json
        from keepwarm.fleet.report.as_json import report_document

        write_bytes(to_json(report_document(report)))
        return
    from keepwarm.fleet.report.terminal import render_report

    width, colour = screen()
    write_text(render_report(report, width=width, colour=colour))
