"""``keepwarm profile``: a server to simulate, fitted to replays that were measured on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm._errors import InputError
from keepwarm.cli import options as shared
from keepwarm.cli.output import write_bytes, write_text

if TYPE_CHECKING:
    from keepwarm.replay.measuring.files import KeptRun
    from keepwarm.replay.measuring.record import ServerFacts
    from keepwarm.serving.fit import Measured

app = typer.Typer(help="Describe a server for `keepwarm simulate serving`.", rich_markup_mode=None)

Replays = Annotated[
    list[Path],
    typer.Argument(metavar="REPLAY...", help="Folders of sequential `keepwarm replay` runs on one server."),
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The profile, as JSON.")]
Name = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Without it: the server's model.")]
StepTokens = Annotated[
    int, typer.Option("--step-tokens", metavar="N", min=1, help="The server's max_num_batched_tokens.")
]
MaxRunning = Annotated[
    int, typer.Option("--max-running", metavar="N", min=1, help="The server's max_num_seqs.")
]


def fit_command(
    replays: Replays,
    output: Output,
    name: Name = None,
    step_tokens: StepTokens = 2048,
    max_running: MaxRunning = 128,
    json: shared.Json = False,
) -> None:
    """Fit the costs of a server by least squares, and say how far the fit is off."""
    from keepwarm._files import write_whole
    from keepwarm._json import to_json
    from keepwarm.replay.measuring.files import read_run
    from keepwarm.serving.fit import fit_costs
    from keepwarm.serving.profile import SCHEMA, Profile, profile_document

    kept = [read_run(folder) for folder in replays]
    server = _one_server(kept, replays)
    costs = fit_costs([measured for run in kept for measured in _measured(run)], step_tokens)
    profile = Profile(
        schema=SCHEMA,
        name=name or server.model,
        capacity_tokens=server.capacity_blocks * server.block_size,
        step_tokens=step_tokens,
        max_running_requests=max_running,
        costs=costs,
        sources=tuple(
            f"replay {run.run.label!r} of {run.run.started} on {server.device or server.device_type}, "
            f"vLLM {server.vllm}: {run.chain_sha256}"
            for run in kept
        ),
    )
    document = to_json(profile_document(profile))
    write_whole(output, document)
    if json:
        write_bytes(document)
        return
    write_text(
        f"{output}: fitted to {costs.requests} requests; off by {costs.ttft_residual_s:.3f} s in the time to "
        f"the first token and {costs.total_residual_s:.3f} s in total (root mean squares)\n"
    )


def _one_server(kept: list[KeptRun], folders: list[Path]) -> ServerFacts:
    """What all runs were sent to. Raises InputError: several servers, or requests beside each other."""
    first = kept[0].run.server
    for folder, run in zip(folders, kept, strict=True):
        server, mode = run.run.server, run.run.conditions.mode
        if mode != "sequential":
            raise InputError(
                f"{str(folder)!r} was sent in mode {mode!r}, so requests shared steps; replay one by one"
            )
        if _identity(server) != _identity(first):
            raise InputError(
                f"{str(folder)!r} is of another server than {str(folders[0])!r}; fit one profile for each"
            )
    return first


def _identity(server: ServerFacts) -> tuple[str, str, int, int, str | None]:
    return server.vllm, server.model, server.block_size, server.capacity_blocks, server.device


def _measured(kept: KeptRun) -> list[Measured]:
    """The requests that succeeded and say all that a fit needs."""
    from keepwarm.serving.fit import Measured

    return [
        Measured(row.prompt_tokens, row.cached_tokens or 0, row.output_tokens, row.ttft_s, row.total_s)
        for row in kept.rows
        if row.status == "ok"
        and row.prompt_tokens
        and row.output_tokens
        and row.ttft_s is not None
        and row.total_s is not None
    ]


app.command("fit")(fit_command)
