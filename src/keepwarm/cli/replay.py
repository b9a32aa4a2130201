"""``keepwarm replay``: recorded requests sent to a real server, and what each of them got."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from keepwarm.cli import options as shared
from keepwarm.cli.output import screen, write_bytes, write_text
from keepwarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from keepwarm.replay.measuring import ReplayOptions, Run

BaseUrl = Annotated[
    str, typer.Option("--base-url", metavar="URL", help="The running vLLM server.", show_default=False)
]
Label = Annotated[
    str,
    typer.Option(
        "--label", metavar="NAME", help="What the run is called: before, after.", show_default=False
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder of evidence; appears when the run is complete.",
        show_default=False,
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        "--concurrency", metavar="N", min=1, help="Send so many at once. Without it: one after another."
    ),
]
Timing = Annotated[
    str | None,
    typer.Option("--timing", metavar="recorded", help="Send each request when it was sent then."),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="ID", help="Model to ask. Without it: the first the server lists."),
]
MaxTokens = Annotated[
    int | None,
    typer.Option("--max-tokens", metavar="N", min=1, help="Most tokens that any request may generate."),
]
ChatTemplate = Annotated[
    Path | None,
    typer.Option(
        "--chat-template",
        metavar="FILE",
        help="Sent with each request; needs a server started with --trust-request-chat-template.",
    ),
]
ToolChoice = Annotated[
    str,
    typer.Option(
        "--tool-choice",
        metavar="recorded|none",
        help="none: tools stay in the prompt, and the server needs no parser of tool calls.",
    ),
]
Limit = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=1, help="Send only the first N requests.")
]
NoReset = Annotated[
    bool, typer.Option("--no-reset", help="Leave the server's cache as it is; the record says so.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with a run into --out that was interrupted.")]
KeepText = Annotated[
    bool, typer.Option("--keep-text", help="Keep the generated texts too, not their SHA-256 alone.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Sent with each request.")]
TimeoutS = Annotated[
    float,
    typer.Option("--timeout-s", metavar="S", callback=shared.seconds, help="Longest wait for any piece."),
]
Device = Annotated[
    str | None,
    typer.Option("--device", metavar="TEXT", help="What the record says of the server's machine."),
]


def command(
    trace: shared.Trace,
    base_url: BaseUrl,
    label: Label,
    out: Out,
    concurrency: Concurrency = None,
    timing: Timing = None,
    model: Model = None,
    max_tokens: MaxTokens = None,
    chat_template: ChatTemplate = None,
    tool_choice: ToolChoice = "recorded",
    limit: Limit = None,
    no_reset: NoReset = False,
    resume: Resume = False,
    keep_text: KeepText = False,
    seed: Seed = 0,
    timeout_s: TimeoutS = 300.0,
    device: Device = None,
    format: shared.Format = "auto",  # noqa: A002 - the option's name in the contract
    json: shared.Json = False,
) -> None:
    """Send recorded requests to a running vLLM and keep, as evidence, what each of them got.

    The server's cache is emptied first, and the run refuses if it cannot be. Requests are sent greedily and
    streamed. Compare two runs with: keepwarm compare BEFORE AFTER
    """
    from keepwarm.replay.measuring import ReplayOptions

    options = ReplayOptions(
        label=label,
        format=format,
        model=model,
        concurrency=concurrency,
        recorded_timing=_is_recorded(timing),
        max_tokens=max_tokens,
        chat_template=chat_template,
        tool_choice=_tool_choice(tool_choice),
        limit=limit,
        reset=not no_reset,
        keep_text=keep_text,
        seed=seed,
        timeout_s=timeout_s,
        device=device,
    )
    out = Path(os.path.abspath(out))  # noqa: PTH100 - the folder that . names is replaced
    run = _run(trace, base_url, out, options, resume)
    if json:
        from keepwarm._json import to_json
        from keepwarm.replay.measuring.record import run_document

        write_bytes(to_json(run_document(run)))
        return
    from keepwarm.replay.measuring.files import read_run
    from keepwarm.replay.measuring.terminal import render_run

    width, colour = screen()
    write_text(render_run(run, out, read_run(out).chain_sha256, width=width, colour=colour))


def _is_recorded(timing: str | None) -> bool:
    if timing not in (None, "recorded"):
        raise typer.BadParameter(f"--timing {timing!r} is unknown; the one there is, is recorded")
    return timing is not None


def _tool_choice(value: str) -> Literal["recorded", "none"]:
    if value == "none":
        return "none"
    if value != "recorded":
        raise typer.BadParameter(f"--tool-choice {value!r} is unknown; give recorded or none")
    return "recorded"


def _run(trace: str, base_url: str, out: Path, options: ReplayOptions, resume: bool) -> Run:
    from keepwarm.replay.measuring import replay_trace

    with progress_bar() as progress:
        return replay_trace(
            trace, base_url, out, options, resume=resume, api_key=shared.api_key(), progress=progress
        )
