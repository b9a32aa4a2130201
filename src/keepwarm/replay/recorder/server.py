"""Bind, serve, and end cleanly."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import httpx2
import uvicorn

from keepwarm._listening import Ending, base_url, ended_by_signals, listening
from keepwarm.replay.recorder.app import RecordingProxy
from keepwarm.replay.recorder.journal import Journal
from keepwarm.replay.recorder.options import GRACE_S, RecorderOptions, check_session_header

_IDLE_S = 2.0  # below the 5 s of uvicorn, and so vLLM: a connection is dropped here before it is there
_HEADER_BYTES = 128 * 1024


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
    with listening(options.host, options.port) as listener:
        journal = Journal.open(options.out, append=options.append)
        try:
            with ended_by_signals() as ending:
                on_ready(base_url(options.host, listener), journal.repair)
                proxy = asyncio.run(_serve(options, journal, listener, ending))
        finally:
            journal.close()
    return Summary(proxy.tally.requests, proxy.tally.failed, journal.lost_lines, journal.problem, options.out)


async def _serve(
    options: RecorderOptions, journal: Journal, listener: socket.socket, ending: Ending
) -> RecordingProxy:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=_IDLE_S)
    # Not trust_env: a proxy of the environment would be asked for a server on this machine.
    async with httpx2.AsyncHTTPTransport(limits=limits, trust_env=False) as transport:
        proxy = RecordingProxy(options, transport, journal)
        server = uvicorn.Server(_uvicorn_config(proxy))
        ending.of(server)
        await server.serve(sockets=[listener])
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
