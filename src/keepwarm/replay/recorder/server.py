"""Bind, serve, and end cleanly."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import httpx2
import uvicorn

from keepwarm._errors import InputError
from keepwarm.replay.recorder.app import RecordingProxy
from keepwarm.replay.recorder.journal import Journal
from keepwarm.replay.recorder.options import GRACE_S, RecorderOptions, check_session_header

_BACKLOG = 2048
_IDLE_S = 2.0  # below the 5 s of uvicorn, and so vLLM: a connection is dropped here before it is there
_HEADER_BYTES = 128 * 1024
_ENDING = (signal.SIGINT, signal.SIGTERM)


class Summary(NamedTuple):
    """What a recording came to. ``failed`` requests are recorded too; ``lost`` ones could not be written."""

    requests: int
    failed: int
    lost: int
    problem: str | None
    path: Path


def record(options: RecorderOptions, on_ready: Callable[[str, str | None], None]) -> Summary:
    """Record until SIGINT or SIGTERM; requests in flight may then go on for ``GRACE_S``.

    ``on_ready`` gets the address that clients connect to, and what was repaired in the file, if anything.
    Call it in the main thread. Raises InputError: nothing can listen there, or the file cannot be used.
    """
    check_session_header(options.session_header)
    with _listening(options.host, options.port) as listener:
        journal = Journal.open(options.out, append=options.append)
        try:
            with _ended_by_signals() as ending:
                on_ready(_address(options.host, listener), journal.repair)
                proxy = asyncio.run(_serve(options, journal, listener, ending))
        finally:
            journal.close()
    return Summary(proxy.tally.requests, proxy.tally.failed, journal.lost_lines, journal.problem, options.out)


async def _serve(
    options: RecorderOptions, journal: Journal, listener: socket.socket, ending: _Ending
) -> RecordingProxy:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=_IDLE_S)
    # Not trust_env: a proxy of the environment would be asked for a server on this machine.
    async with httpx2.AsyncHTTPTransport(limits=limits, trust_env=False) as transport:
        proxy = RecordingProxy(options, transport, journal)
        await ending.of(uvicorn.Server(_uvicorn_config(proxy))).serve(sockets=[listener])
    return proxy


def _uvicorn_config(proxy: RecordingProxy) -> uvicorn.Config:
    """Nothing is logged (paths carry keys), and no header added that the upstream did not send."""
    return uvicorn.Config(
        proxy,
        http="h11",  # httptools, where it is installed, is another parser with other corner cases
        lifespan="off",
        ws="none",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        timeout_graceful_shutdown=GRACE_S,
    )


class _Ending:
    """The wish to end, which may come before there is a server."""

    def __init__(self) -> None:
        self._is_wished = False
        self._server: uvicorn.Server | None = None

    def wish(self, _number: int, _frame: FrameType | None) -> None:
        """Handles a signal; uvicorn, which handles them while it serves, raises them again afterwards."""
        self._is_wished = True
        if self._server is not None:
            self._server.should_exit = True

    def of(self, server: uvicorn.Server) -> uvicorn.Server:
        """The server, which is not to start if it is to end already."""
        self._server = server
        server.should_exit = self._is_wished
        return server


@contextmanager
def _ended_by_signals() -> Iterator[_Ending]:
    ending = _Ending()
    before = [(number, signal.signal(number, ending.wish)) for number in _ENDING]
    try:
        yield ending
    finally:
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that clients can connect to from now on; raises InputError."""
    name = host.removeprefix("[").removesuffix("]")
    try:
        family, *_, address = socket.getaddrinfo(
            name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # asyncio turns Nagle's algorithm off (40 ms a response) only where the protocol is named.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except (OSError, UnicodeError, OverflowError) as error:
        raise _cannot_listen(host, port, error) from None
    with listener:
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except OSError as error:
            raise _cannot_listen(host, port, error) from None
        yield listener


def _cannot_listen(host: str, port: int, error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(f"cannot listen on {host!r} port {port}: {reason}; name another --port or --host")


def _address(host: str, listener: socket.socket) -> str:
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host and not host.startswith("[") else f"http://{host}:{port}"
