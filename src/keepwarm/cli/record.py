"""``keepwarm record``: a loopback proxy that writes down what an application asks its model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm._errors import InputError
from keepwarm.cli.output import write_error, write_text

if TYPE_CHECKING:
    from keepwarm.hints import HintClient

UpstreamUrl = Annotated[
    str,
    typer.Option(
        "--upstream", metavar="URL", help="The OpenAI-compatible server that answers.", show_default=False
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out", metavar="FILE", help="Gets one JSON line per request, as it completes.", show_default=False
    ),
]
Port = Annotated[
    int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port to listen on; 0: any free one.")
]
Host = Annotated[
    str,
    typer.Option("--host", metavar="HOST", help="Address to listen on. The default is this machine alone."),
]
SessionHeader = Annotated[
    str,
    typer.Option("--session-header", metavar="NAME", help="Request header that names the session."),
]
Append = Annotated[
    bool, typer.Option("--append", help="Go on in a file that is already there; without it none is touched.")
]
HintsTo = Annotated[
    str | None,
    typer.Option(
        "--hints-to",
        metavar="URL,...",
        help="Control endpoints of keepwarm's plugin in vLLM, told what sessions do between requests.",
        show_default=False,
    ),
]
HintsTokenEnv = Annotated[
    str,
    typer.Option(
        "--hints-token-env",
        metavar="NAME",
        help="Variable of the environment that holds the endpoint's token.",
    ),
]


def command(
    upstream: UpstreamUrl,
    out: Out,
    port: Port = 8001,
    host: Host = "127.0.0.1",
    session_header: SessionHeader = "X-Session-ID",
    append: Append = False,
    hints_to: HintsTo = None,
    hints_token_env: HintsTokenEnv = "KEEPWARM_CONTROL_TOKEN",  # noqa: S107 - the name of a variable
) -> None:
    """Stand between an application and its OpenAI-compatible server, and record the requests.

    Point the application's base URL at it, end it with Ctrl-C, then run: keepwarm diagnose FILE
    """
    from keepwarm._text import counted
    from keepwarm.replay.recorder import RecorderOptions, record, upstream_of

    hints = None if hints_to is None else _hint_client(hints_to, hints_token_env)
    options = RecorderOptions(upstream_of(upstream), out, host, port, session_header, append, hints)

    def announce(address: str, repair: str | None) -> None:
        if repair is not None:
            write_error(f"{str(out)!r}: {repair}")
        if not options.is_loopback:
            write_error(f"--host {host!r} lets other machines use the upstream through this one")
        write_error(f"recording {options.upstream.shown} into {str(out)!r}; base URL {address}/v1")

    summary = record(options, announce)
    requests = counted(summary.requests, "request")
    write_text(f"{requests} recorded, {summary.failed} of them failed, in {str(summary.path)!r}\n")
    if hints is not None:
        hints.close()
        lost = hints.failed + hints.dropped
        write_text(f"{counted(hints.sent, 'hint')} taken by {hints_to}, {lost} lost\n")
    if summary.lost:
        raise InputError(
            f"{counted(summary.lost, 'line')} could not be written to {str(out)!r}: {summary.problem}; "
            "make room and record again"
        )


def _hint_client(urls: str, token_env: str) -> HintClient:
    from keepwarm.hints import HintClient

    token = os.environ.get(token_env, "").strip()
    if not token:
        raise InputError(
            f"--hints-to needs the token of the control endpoint, and {token_env!r} is not set; set it, or "
            "name another variable with --hints-token-env"
        )
    return HintClient(urls.split(","), token)
