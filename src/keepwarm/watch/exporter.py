"""The call sites of a recording on ``/metrics``, until a signal ends it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable

import uvicorn
from prometheus_client import CollectorRegistry, generate_latest
from starlette.types import ASGIApp, Receive, Scope, Send

from keepwarm._errors import InputError
from keepwarm._listening import Ending, base_url, ended_by_signals, listening
from keepwarm.watch.follow import Follower, FollowOptions

_POLL_S = 1.0
_GRACE_S = 1
_TEXT = b"text/plain; version=0.0.4; charset=utf-8"


def place_of(listen: str) -> tuple[str, int]:
    """``127.0.0.1:9105`` as host and port. Raises InputError."""
    host, colon, port = listen.rpartition(":")
    if not (colon and host and port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) < 65_536):
        raise InputError(f"--listen {listen!r} is no HOST:PORT; say 127.0.0.1:9105")
    return host, int(port)


def exposition(options: FollowOptions) -> bytes:
    """What a scrape would get once the recording has been read as it is now. Raises InputError."""
    follower = Follower(options)
    try:
        follower.read_on()
        return _latest(follower)
    finally:
        follower.close()


def export(options: FollowOptions, listen: str, on_ready: Callable[[str], None]) -> None:
    """Follow and serve until SIGINT or SIGTERM; ``on_ready`` gets the address of the metrics.

    Call it in the main thread. Raises InputError: nothing can listen there, or the recording cannot be used.
    """
    host, port = place_of(listen)
    follower = Follower(options)
    try:
        with listening(host, port, advice="--listen") as listener, ended_by_signals() as ending:
            on_ready(f"{base_url(host, listener)}/metrics")
            asyncio.run(_serve(follower, listener, ending))
    finally:
        follower.close()


async def _serve(follower: Follower, listener: socket.socket, ending: Ending) -> None:
    config = uvicorn.Config(
        _app(follower),
        http="h11",
        lifespan="off",
        ws="none",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
    )
    server = uvicorn.Server(config)
    ending.of(server)
    over = threading.Event()
    failures: list[Exception] = []

    def follow() -> None:
        try:
            while not over.is_set():
                follower.read_on()
                over.wait(_POLL_S)
        except Exception as error:  # noqa: BLE001 - told by the main thread, which then ends
            failures.append(error)
            server.should_exit = True

    # A daemon: what is still unread of a long recording is no reason to stay.
    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        await server.serve(sockets=[listener])
    finally:
        over.set()
    thread.join(_GRACE_S)
    if failures:
        raise failures[0]


def _app(follower: Follower) -> ASGIApp:
    async def answer(scope: Scope, _receive: Receive, send: Send) -> None:
        status, body = 404, b"the metrics are at /metrics\n"
        if scope["path"] == "/metrics":
            is_read = scope["method"] in {"GET", "HEAD"}
            status, body = (200, await asyncio.to_thread(_latest, follower)) if is_read else (405, b"")
        headers = [(b"content-type", _TEXT), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer


def _latest(follower: Follower) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(follower)
    return generate_latest(registry)
