"""``keepwarm record``: a loopback proxy that writes down what an application asks its model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keepwarm._errors import InputError
from keepwarm.cli.output import write_error, write_text

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


def command(
    upstream: UpstreamUrl,
    out: Out,
    port: Port = 8001,
    host: Host = "127.0.0.1",
    session_header: SessionHeader = "X-Session-ID",
    append: Append = False,
) -> None:
    """Stand between an application and its OpenAI-compatible server, and record the requests.

    Point the application's base URL at it, end it with Ctrl-C, then run: keepwarm diagnose FILE
    """
    from keepwarm._text import counted
    from keepwarm.replay.recorder import RecorderOptions, record, upstream_of

    options = RecorderOptions(upstream_of(upstream), out, host, port, session_header, append)

    def announce(address: str, repair: str | None) -> None:
        if repair is not None:
            write_error(f"{str(out)!r}: {repair}")
        if not options.is_loopback:
            write_error(f"--host {host!r} lets other machines use the upstream through this one")
        write_error(f"recording {options.upstream.shown} into {str(out)!r}; base URL {address}/v1")

    summary = record(options, announce)
    requests = counted(summary.requests, "request")
    write_text(f"{requests} recorded, {summary.failed} of them failed, in {str(summary.path)!r}\n")
    if summary.lost:
        raise InputError(
            f"{counted(summary.lost, 'line')} could not be written to {str(out)!r}: {summary.problem}; "
            "make room and record again"
        )
