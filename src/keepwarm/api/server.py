"""Bind, serve, and end cleanly."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from keepwarm._listening import Ending, base_url, ended_by_signals, listening
from keepwarm.api.app import create_app
from keepwarm.api.library.library import Library
from keepwarm.api.pages import Pages, built_pages
from keepwarm.api.security import Access, Guard, Say
from keepwarm.api.settings import Settings, is_wildcard

_GRACE_S = 1  # for answers under way; a stream of events does not end by itself
_HEADER_BYTES = 64 << 10


def serve(settings: Settings, on_ready: Callable[[str], None], say: Say) -> None:
    """Serve until SIGINT or SIGTERM.

    ``on_ready`` gets the address to open, token included; ``say`` one line for each bug that an answer met.
    Call it in the main thread. Raises InputError: nothing can listen there.
    """
    with listening(settings.host, settings.port) as listener, ended_by_signals() as ending:
        port = listener.getsockname()[1]
        app = served_app(settings, port, say)
        shown = "localhost" if is_wildcard(settings.host) else settings.host
        on_ready(f"{base_url(shown, listener)}/?token={settings.token}")
        asyncio.run(_serve(app, listener, ending))


def served_app(settings: Settings, port: int, say: Say) -> ASGIApp:
    """The whole application as it is served at ``port``: guard, API and dashboard."""
    library = Library(settings.root, revealed=settings.revealed)
    own = () if is_wildcard(settings.host) else (f"{_in_a_url(settings.host)}:{port}",)
    access = Access.of(settings.token, port, (*own, *settings.allowed_hosts))
    return Guard(_Split(create_app(library), Pages(built_pages())), access, say)


class _Split:
    """The API below ``/api``, pages elsewhere."""

    def __init__(self, api: ASGIApp, pages: ASGIApp) -> None:
        self._api = api
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call by ASGI."""
        is_page = scope["type"] == "http" and not f"{scope['path']}/".startswith("/api/")
        await (self._pages if is_page else self._api)(scope, receive, send)


async def _serve(app: ASGIApp, listener: socket.socket, ending: Ending) -> None:
    config = uvicorn.Config(
        app,
        http="h11",  # httptools, where it is installed, is another parser with other corner cases
        lifespan="on",
        ws="none",
        log_config=None,
        log_level="critical",  # paths of the dashboard are nobody's business
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        timeout_graceful_shutdown=_GRACE_S,
    )
    server = uvicorn.Server(config)
    ending.of(server)
    await server.serve(sockets=[listener])


def _in_a_url(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
