"""Options of the commands that simulate servers, and what they are read into."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from keepwarm._errors import InputError
from keepwarm.cli import options as shared

if TYPE_CHECKING:
    from keepwarm._progress import Progress
    from keepwarm.reuse.predictor import ReuseModel
    from keepwarm.serving.options import Population, ServingOptions
    from keepwarm.workload.base import Workload
    from keepwarm.workload.load import LoadOptions


def _seed_list(value: str) -> str:
    if not all(word.isascii() and word.isdigit() and len(word) < 20 for word in shared.names(value)):
        raise typer.BadParameter(f"{value[:80]!r} is not a list of whole numbers; write 0,1,2")
    return value


def _scale(value: float) -> float:
    if not 0 <= value < float("inf"):
        raise typer.BadParameter(f"{value!r} is not a factor; write 1 for the recorded gaps")
    return value


def _size(value: float) -> float:
    if not 0 <= value < float("inf"):
        raise typer.BadParameter(f"{value!r} is not a size; write 0 for none")
    return value


Scheduling = Annotated[
    str,
    typer.Option("--scheduling", metavar="NAME,...", callback=shared.name_list, help="Queue orders."),
]
Eviction = Annotated[
    str, typer.Option("--eviction", metavar="NAME,...", callback=shared.name_list, help="Evictions.")
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
        callback=_size,
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


class Loaded(NamedTuple):
    """A trace as sessions, the digest of its file, and the options that all runs have in common."""

    workload: Workload
    sha256: str
    base: ServingOptions


def base_options(
    *,
    profile: str,
    step_tokens: int | None,
    capacity_tokens: int | None,
    gap_scale: float,
    population: str,
    host_memory_gib: float,
    reuse_model: Path | None,
) -> ServingOptions:
    """What all runs have in common. Raises InputError for a name or a file that is wrong."""
    from keepwarm.serving.options import ServingOptions
    from keepwarm.serving.profile import load_profile

    return ServingOptions(
        profile=load_profile(profile),
        step_tokens=step_tokens,
        capacity_tokens=capacity_tokens,
        gap_scale=gap_scale,
        population=_population(population),
        host_memory_gib=host_memory_gib,
        reuse_model=_model(reuse_model),
    )


def load(
    trace: str,
    options: LoadOptions,
    base: ServingOptions,
    *,
    evictions: tuple[str, ...],
    tool_durations: Path | None,
    progress: Progress | None,
) -> Loaded:
    """The trace, with commands if there are ``tool_durations``; a model fitted to them if one is needed."""
    from keepwarm.serving.commands import with_commands
    from keepwarm.serving.simulate import check_gaps
    from keepwarm.workload.load import load_recording

    recording = load_recording(trace, options, progress=progress)
    workload, sha256 = recording.workload, recording.trace.sha256
    check_gaps(workload, base.gap_scale)
    if tool_durations is None:
        return Loaded(workload, sha256, base)
    wants_model = base.reuse_model is None and "cachewise" in evictions
    commanded = with_commands(workload, tool_durations, gap_scale=base.gap_scale, wants_model=wants_model)
    model = base.reuse_model or commanded.model
    return Loaded(commanded.workload, sha256, replace(base, reuse_model=model))


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
