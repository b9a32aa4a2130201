"""``keepwarm task export``: a finding as a redacted, scoped task for an agent or a colleague."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm._errors import InputError
from keepwarm.cli import options as shared
from keepwarm.cli.output import write_bytes, write_error, write_text
from keepwarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from keepwarm.repair.export import Order
    from keepwarm.repair.task import Task

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Hand a finding over to be repaired.")

FindingId = Annotated[
    str,
    typer.Argument(
        metavar="FINDING", help="Id of the finding, as 'keepwarm diagnose' gives it.", show_default=False
    ),
]
TraceOption = Annotated[
    str | None,
    typer.Option("--trace", metavar="TRACE", help="The recorded requests that the finding is about."),
]
SavedFile = Annotated[
    Path | None,
    typer.Option(
        "--diagnosis",
        metavar="FILE",
        help="A saved diagnosis.json: names the trace, block size and capacity, and holds the finding to it.",
    ),
]
Repo = Annotated[
    Path,
    typer.Option(
        "--repo", metavar="DIR", help="Checkout of the application, a git repository.", show_default=False
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FILE", help="Gets the task as Markdown; task.json beside it is for the guard."
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="PATH", help="One more file, or pattern, that the repair may change."),
]
Declare = Annotated[
    list[str] | None,
    typer.Option(
        "--declare",
        metavar="KIND:TEXT=REASON",
        help="A change of prompts that is meant: added, removed, changed or moved text; or a .json of them.",
    ),
]


@app.callback()
def _task() -> None:
    """Hand a finding over to be repaired."""


def export(
    finding: FindingId,
    repo: Repo,
    trace: TraceOption = None,
    diagnosis: SavedFile = None,
    out: Out = None,
    allow: Allow = None,
    declare: Declare = None,
    format: shared.Format = "auto",  # noqa: A002 - the option's name in the contract
    tokenizer: shared.Tokenizer = None,
    chat_template: shared.ChatTemplate = None,
    block_size: shared.BlockSize = None,
    capacity_blocks: shared.CapacityBlocks = None,
    ttl_s: shared.TtlS = None,
    json: shared.Json = False,
) -> None:
    """Write a finding as a task: what is wrong, where, what may change, what must stay, how it is checked.

    Everything recorded is redacted. Exit 2 and no file where there is nothing to hand over.
    """
    from keepwarm._files import check_apart
    from keepwarm.diagnose.options import Options
    from keepwarm.repair.declared import parse_declarations
    from keepwarm.repair.export import Order
    from keepwarm.repair.files import check_target

    if out is not None:
        check_target(out)
        read = {"the trace": trace, "--diagnosis": diagnosis}
        check_apart(
            {name: Path(path) for name, path in read.items() if path is not None},
            {"--out": out, "task.json of --out": out.with_suffix(".json")},
        )
    elif not json:
        raise InputError(
            "nothing to write: name a file with --out task.md, or print the document with --json"
        )
    options = Options(
        format=format,
        tokenizer=tokenizer,
        chat_template=chat_template,
        block_size=block_size,
        capacity_blocks=capacity_blocks,
        ttl_s=ttl_s,
    )
    order = Order(
        finding=finding,
        trace=trace or "",
        repository=repo,
        options=options,
        allow=tuple(allow or ()),
        declared=parse_declarations(declare or ()),
        task_file="task.json" if out is None else out.with_suffix(".json").name,
    )
    if diagnosis is not None:
        order = _as_saved(order, diagnosis)
    if not order.trace:
        raise InputError(
            "no trace: name the recorded requests with --trace, or a --diagnosis that names them"
        )
    _write(order, out, json=json)


app.command("export")(export)


def _as_saved(order: Order, path: Path) -> Order:
    """``order`` for the trace and the cache of a saved diagnosis; what was given by hand goes first."""
    import msgspec

    from keepwarm.repair.saved import read_diagnosis

    saved = read_diagnosis(path)
    given = order.options
    return msgspec.structs.replace(
        order,
        trace=order.trace or saved.input.path,
        saved=saved.finding(order.finding),
        saved_sha256=saved.input.sha256,
        options=msgspec.structs.replace(
            given,
            block_size=given.block_size or saved.cache.block_size,
            capacity_blocks=given.capacity_blocks or saved.cache.capacity_blocks,
        ),
    )


def _write(order: Order, out: Path | None, *, json: bool) -> None:
    from keepwarm._json import plain, to_json
    from keepwarm.repair.export import make_task
    from keepwarm.repair.files import write_task

    with progress_bar() as progress:
        task = make_task(order, progress)
    if out is not None:
        written = write_task(task, out)
        if not json:
            write_text(f"{written.markdown}\n{written.json}\n")
    if json:
        write_bytes(to_json(plain(task)))
    _warn(task)


def _warn(task: Task) -> None:
    if not task.allowed_files:
        write_error("no file may be changed: nothing was located in the source; add --allow PATH")
