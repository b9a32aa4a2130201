"""``keepwarm sessions``: what the sessions of a trace are like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm.cli import options as shared
from keepwarm.cli.output import screen, write_bytes, write_text
from keepwarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from keepwarm.workload.describe.describe import DescribeOptions
    from keepwarm.workload.describe.figures import Description

app = typer.Typer(help="What the sessions of a trace are like.", rich_markup_mode=None)

_MOST_TOKENS = 2**40


Beside = Annotated[
    str | None,
    typer.Option("--beside", metavar="TRACE", help="A second trace, say of a chat, for the same figures."),
]
Capacity = Annotated[
    int | None,
    typer.Option(
        "--capacity-tokens",
        metavar="M",
        min=1,
        max=_MOST_TOKENS,
        help="Tokens of KV that the server holds, to set the working set against.",
    ),
]
Tools = Annotated[
    str | None,
    typer.Option(
        "--tools",
        metavar="FILE",
        help="Tool calls with their durations: CSV or an agent's transcript. Without it: the trace's own.",
    ),
]
Reuse = Annotated[
    str | None,
    typer.Option(
        "--reuse-model",
        metavar="FILE",
        help="A model of keepwarm reuse fit: tool times by its clusters. Without it: by program.",
    ),
]
ModelConfig = Annotated[
    str | None,
    typer.Option("--model-config", metavar="FILE|DIR", help="A model's config.json: KV volume in bytes."),
]
Window = Annotated[
    float,
    typer.Option(
        "--window-s", metavar="S", callback=shared.seconds, help="Seconds that the working set covers."
    ),
]
ShareSystem = Annotated[
    bool,
    typer.Option(
        "--share-system",
        help="Take tools and system text of equal length to be the same in all sessions of hash-only traces.",
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE|DIR",
        help="Draw a .png or .svg, or one file a picture into a folder; needs the extra plot.",
    ),
]


def describe_command(
    trace: shared.Trace,
    beside: Beside = None,
    capacity_tokens: Capacity = None,
    tools: Tools = None,
    reuse_model: Reuse = None,
    model_config: ModelConfig = None,
    window_s: Window = 600.0,
    share_system: ShareSystem = False,
    plot: Plot = None,
    format: shared.Format = "auto",  # noqa: A002 - as the other commands call it
    tokenizer: shared.Tokenizer = None,
    chat_template: shared.ChatTemplate = None,
    block_size: shared.BlockSize = None,
    json: shared.Json = False,
) -> None:
    """Lengths, gaps, reuse, working set and tool times of the sessions in TRACE.

    Times and lengths are those recorded; what a cache would hit is simulated.
    """
    from keepwarm.workload.describe.describe import DescribeOptions
    from keepwarm.workload.load import LoadOptions

    description = _describe(
        trace,
        DescribeOptions(
            load=LoadOptions(format, tokenizer, chat_template, block_size, share_system),
            beside=beside,
            capacity_tokens=capacity_tokens,
            tools=tools,
            reuse_model=reuse_model,
            model_config=model_config,
            window_s=window_s,
        ),
        plot,
    )
    if json:
        from keepwarm._json import to_json
        from keepwarm.workload.describe.as_json import sessions_document

        write_bytes(to_json(sessions_document(description)))
        return
    from keepwarm.workload.describe.terminal import render_description

    width, colour = screen()
    write_text(render_description(description, width=width, colour=colour))


def _describe(trace: str, options: DescribeOptions, plot: Path | None) -> Description:
    """The description, and its pictures if they were asked for."""
    from keepwarm._files import check_apart
    from keepwarm.workload.describe.describe import describe
    from keepwarm.workload.describe.plot import check_plot, write_plots

    if plot is not None:
        check_plot(plot)
        check_apart({"the trace": Path(trace)}, {"--plot": plot})
    with progress_bar() as progress:
        description = describe(trace, options, progress=progress)
    if plot is not None:
        write_plots(description, plot)
    return description


app.command("describe")(describe_command)
