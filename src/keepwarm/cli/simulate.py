"""``keepwarm simulate``: what a cache of a given size and policy would do with a trace; a server, too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm._errors import InputError
from keepwarm.cli import options as shared
from keepwarm.cli import simulate_fleet, simulate_serving
from keepwarm.cli.output import say_resumed, screen, write_bytes, write_text
from keepwarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from keepwarm._resources import Resources
    from keepwarm.cache.options import ServerOptions, SimulateOptions
    from keepwarm.cache.simulation import Simulation

app = typer.Typer(help="Replay a trace through a model of the cache.", rich_markup_mode=None)

Policies = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="NAME,...",
        callback=shared.name_list,
        help="Eviction policies. Without it: lru,computecache,belady.",
    ),
]
Capacities = Annotated[
    str | None,
    typer.Option(
        "--capacity-blocks",
        metavar="N,...",
        callback=shared.count_list,
        help="Usable blocks (vLLM's number less 1). Without it: doubling, from the largest prompt on.",
    ),
]
IgnoreOutput = Annotated[
    bool, typer.Option("--ignore-output", help="Leave out the blocks that decoding fills.")
]
WithCurve = Annotated[
    bool,
    typer.Option(
        "--curve", help="Also hit rate against capacity, and sizes for 90, 95 and 99% of the ceiling."
    ),
]
Sample = Annotated[
    float | None,
    typer.Option(
        "--sample", metavar="RATE", help="Estimate lru's curve from this share of the blocks instead."
    ),
]
IfFixed = Annotated[
    bool,
    typer.Option(
        "--if-fixed", help="Also the ceiling, and the curve, if every finding of the diagnosis were repaired."
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw the curve as .png or .svg; needs the extra plot."),
]
MatchUnit = Annotated[
    int | None,
    typer.Option(
        "--match-unit-tokens",
        metavar="N",
        min=1,
        help="Hits are multiples of it. Without it: the model's, else one block.",
    ),
]
KvEvents = Annotated[
    str | None,
    typer.Option("--kv-events", metavar="FILE", help="Recorded vLLM KV events to compare with."),
]
ModelConfig = Annotated[
    str | None,
    typer.Option(
        "--model-config", metavar="FILE|DIR", help="A model's config.json: bytes per block, refusals."
    ),
]
Gpu = Annotated[
    str | None,
    typer.Option("--gpu", metavar="NAME", help="Also the capacity of this GPU; needs --model-config."),
]
GpuMemory = Annotated[
    float | None,
    typer.Option("--gpu-memory-gib", metavar="GIB", help="Memory of one GPU. Without it: --gpu's."),
]
GpuUtilization = Annotated[
    float | None,
    typer.Option(
        "--gpu-memory-utilization", metavar="SHARE", help="vLLM's setting of that name. Without it: 0.92."
    ),
]
TensorParallel = Annotated[
    int, typer.Option("--tensor-parallel", metavar="N", min=1, help="GPUs that share the model.")
]
KvCacheDtype = Annotated[
    str, typer.Option("--kv-cache-dtype", metavar="TYPE", help="vLLM's setting of that name.")
]
Weights = Annotated[
    float | None,
    typer.Option("--weights-gib", metavar="GIB", help="The model's weights. Without it: estimated."),
]
Overhead = Annotated[
    float | None,
    typer.Option(
        "--overhead-gib", metavar="GIB", help="One GPU's activations and the like. Without it: estimated."
    ),
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, help="Rows computed at once. Without it: one a core."),
]
NoStore = Annotated[
    bool, typer.Option("--no-store", help="Neither use nor keep the interned trace of an earlier run.")
]


def cache_command(
    trace: shared.Trace,
    policy: Policies = None,
    capacity_blocks: Capacities = None,
    ignore_output: IgnoreOutput = False,
    curve: WithCurve = False,
    if_fixed: IfFixed = False,
    sample: Sample = None,
    plot: Plot = None,
    format: shared.Format = "auto",  # noqa: A002 - the option's name in the contract
    tokenizer: shared.Tokenizer = None,
    chat_template: shared.ChatTemplate = None,
    block_size: shared.BlockSize = None,
    match_unit_tokens: MatchUnit = None,
    kv_events: KvEvents = None,
    model_config: ModelConfig = None,
    gpu: Gpu = None,
    gpu_memory_gib: GpuMemory = None,
    gpu_memory_utilization: GpuUtilization = None,
    tensor_parallel: TensorParallel = 1,
    kv_cache_dtype: KvCacheDtype = "auto",
    weights_gib: Weights = None,
    overhead_gib: Overhead = None,
    threads: Threads = None,
    no_store: NoStore = False,
    memory: shared.Memory = None,
    spill: shared.Spill = None,
    json: shared.Json = False,
) -> None:
    """Hit rates by eviction policy and capacity, simulated.

    Requests are replayed one after another in recorded order, each freed before the next.
    """
    from keepwarm._json import to_json
    from keepwarm.cache.options import SimulateOptions

    options = SimulateOptions(
        format=format,
        tokenizer=tokenizer,
        chat_template=chat_template,
        block_size=block_size,
        policies=shared.names(policy),
        capacities_blocks=shared.counts(capacity_blocks),
        ignore_output=ignore_output,
        match_unit_tokens=match_unit_tokens,
        server=_server(
            model_config,
            gpu=gpu,
            gpu_memory_gib=gpu_memory_gib,
            gpu_memory_utilization=gpu_memory_utilization,
            tensor_parallel=tensor_parallel,
            kv_cache_dtype=kv_cache_dtype,
            weights_gib=weights_gib,
            overhead_gib=overhead_gib,
        ),
        kv_events=kv_events,
        curve=curve or plot is not None,
        sample=sample,
        threads=threads,
        store=not no_store,
    )
    if memory is not None and if_fixed:
        raise InputError("--if-fixed takes apart the whole trace in memory; leave it or --memory out")
    resources = shared.resources(memory, spill)
    simulation = _simulate(trace, options, plot, resources=resources, if_fixed=if_fixed)
    if json:
        from keepwarm.cache.report.as_json import simulation_document

        write_bytes(to_json(simulation_document(simulation)))
        return
    from keepwarm.cache.report.terminal import render_simulation

    width, colour = screen()
    write_text(render_simulation(simulation, width=width, colour=colour))


def _simulate(
    trace: str, options: SimulateOptions, plot: Path | None, *, resources: Resources, if_fixed: bool
) -> Simulation:
    """The answer, and its picture if one was asked for."""
    from keepwarm._files import check_apart
    from keepwarm.cache.report.picture import check_picture, write_picture
    from keepwarm.cache.simulate import simulate_cache

    if plot is not None:
        check_picture(plot)
        check_apart({"the trace": Path(trace)}, {"--plot": plot})
    with progress_bar() as progress:
        simulation = simulate_cache(trace, options, progress, resources=resources, on_resume=say_resumed)
        if if_fixed:
            from keepwarm.diagnose.if_fixed import with_if_fixed

            simulation = with_if_fixed(simulation, options, progress)
    if plot is not None:
        write_picture(simulation, plot)
    return simulation


def _server(model_config: str | None, **settings: str | float | None) -> ServerOptions | None:
    """The server described, if one is. Raises InputError: settings of it, but no model."""
    from keepwarm.cache.options import ServerOptions

    unset = {"tensor_parallel": 1, "kv_cache_dtype": "auto"}
    given = [name for name, value in settings.items() if value != unset.get(name)]
    if model_config is not None:
        return ServerOptions(model_config=model_config, **settings)  # type: ignore[arg-type]
    if given:
        option = f"--{given[0].replace('_', '-')}"
        raise InputError(f"{option} says nothing without a model; add --model-config FILE, its config.json")
    return None


app.command("cache")(cache_command)
app.command("serving")(simulate_serving.command)
app.command("fleet")(simulate_fleet.command)
