"""``keepwarm serve``: saved results in a browser, on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from keepwarm.cli import options as shared
from keepwarm.cli.output import write_error, write_text

Directory = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder that holds the results.", show_default=False)
]
Host = Annotated[
    str,
    typer.Option("--host", metavar="HOST", help="Address to listen on. The default is this machine alone."),
]
Port = Annotated[
    int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port to listen on; 0: any free one.")
]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the address in the browser.")]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="NAME",
        help="Another name that visitors may know this server by; may be repeated.",
        show_default=False,
    ),
]
AllowRemote = Annotated[
    bool,
    typer.Option(
        "--allow-remote", help="Let --host be one that other machines reach; needs KEEPWARM_TOKEN to be set."
    ),
]


def command(
    directory: Directory,
    host: Host = "127.0.0.1",
    port: Port = 0,
    reveal: shared.Reveal = False,
    open_browser: Open = True,
    allow_host: AllowHost = None,
    allow_remote: AllowRemote = False,
) -> None:
    """Show the results in a folder as a dashboard; end it with Ctrl-C.

    Prints the address to open, which holds a token made for this run, or the one in KEEPWARM_TOKEN.
    """
    import secrets

    from keepwarm._hosts import is_loopback
    from keepwarm.api.server import serve
    from keepwarm.api.settings import Settings, checked

    given = os.environ.get("KEEPWARM_TOKEN", "").strip()
    settings = Settings(
        root=directory,
        token=given or secrets.token_urlsafe(32),
        host=host,
        port=port,
        revealed=reveal,
        allowed_hosts=tuple(allow_host or ()),
    )
    checked(settings, remote_allowed=allow_remote, token_given=bool(given))

    def announce(address: str) -> None:
        if not is_loopback(host):
            write_error(f"--host {host!r} lets other machines read the results, over plain HTTP")
        write_text(f"{address}\n")
        if open_browser:
            _open(address)

    serve(settings, announce, write_error)


def _open(address: str) -> None:
    import threading
    import webbrowser

    # In a thread: a browser on a terminal would keep the server from starting.
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
