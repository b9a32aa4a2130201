"""``keepwarm sweep``: a grid of simulations, resumable, on this machine or on a Ray cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keepwarm._errors import InputError
from keepwarm.cli import options as shared
from keepwarm.cli.output import write_bytes, write_text
from keepwarm.cli.progress import progress_bar

Spec = Annotated[
    Path,
    typer.Argument(metavar="SPEC.toml", help="Traces, policies, capacities: a grid.", show_default=False),
]
EngineName = Annotated[
    str, typer.Option("--engine", metavar="local|ray", help="Where cells are computed; ray: extra cluster.")
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address", metavar="ADDR", help="A running Ray cluster. Without it: one on this machine, for now."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="What is finished, and rows.parquet. Without it: SPEC.sweep."),
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, help="Cells computed at once. Without it: one a core."),
]


def command(
    spec: Spec,
    engine: EngineName = "local",
    address: Address = None,
    out: Out = None,
    threads: Threads = None,
    json: shared.Json = False,
) -> None:
    """Compute every cell of a grid once, and keep it.

    Interrupted, lost or changed, the same command computes only what is missing.
    """
    from keepwarm.sweep.engines import chosen_engine
    from keepwarm.sweep.plan import planned
    from keepwarm.sweep.report import first_failure, sweep_document, told
    from keepwarm.sweep.run import sweep
    from keepwarm.sweep.spec import read_spec

    groups = planned(read_spec(spec))
    chosen = chosen_engine(engine, address=address, threads=threads)
    with progress_bar() as progress:
        done = sweep(groups, chosen, out or Path(f"{spec.stem}.sweep"), progress)
    if json:
        from keepwarm._json import to_json

        write_bytes(to_json(sweep_document(done)))
    else:
        write_text(told(done))
    if done.failures:
        raise InputError(first_failure(done))
