"""A listener as an engine has it, and what tests say to it."""

from __future__ import annotations

import json
import socket
from typing import Any, NamedTuple

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators.base import Estimator
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.vllm.hints.listener import HintListener

TOKEN = "a-token-of-tests-0123456789"
PATIENCE_S = 30.0


class Settings(NamedTuple):
    """Of the endpoint."""

    control_port: int | None = 0
    control_token: str | None = TOKEN
    control_token_file: str | None = None


class Watching(Estimator):
    """Knows nothing, and keeps what it is told."""

    name = "watching"

    def __init__(self) -> None:
        self.seen: list[tuple[ToolCall | None, float]] = []

    def remaining_s(self, session: SessionId, call: ToolCall | None, elapsed_s: float) -> float | None:
        return None

    def observe(self, call: ToolCall | None, duration_s: float) -> None:
        self.seen.append((call, duration_s))


def started() -> HintListener:
    """One that runs; to be closed."""
    listener = HintListener.start(Settings())
    assert listener is not None
    return listener


def idle_table(*sessions: str, now_s: float = 10.0) -> SessionTable:
    """Sessions of which one request each has ended at ``now_s``."""
    table = SessionTable(Watching())
    for session in sessions:
        table.arrived(SessionId(session), 4, now_s - 1)
        table.ended(SessionId(session), 5, now_s)
    table.now_s = now_s
    return table


class Answer(NamedTuple):
    """Status and body; ``status`` 0 if the connection ended without an answer."""

    status: int
    error: str | None = None


def exchange(port: int, data: bytes, *, ends: bool = True) -> Answer:
    """Send raw bytes and read until the other side closes. ``ends``: nothing more will come."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        try:
            connection.sendall(data)
            if ends:
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused while still being sent; the answer is there
        return read_answer(connection)


def read_answer(connection: socket.socket) -> Answer:
    """The first answer of a connection that is closed after it."""
    received = b""
    try:
        while chunk := connection.recv(65_536):
            received += chunk
    except ConnectionResetError:
        pass
    if not received:
        return Answer(0)
    head, _, body = received.partition(b"\r\n\r\n")
    text = body.partition(b"\n")[0]
    return Answer(int(head.split()[1]), json.loads(text)["error"] if text.startswith(b"{") else None)


def request(
    path: str = "/keepwarm/sessions/a",
    body: Any = None,
    *,
    method: str = "POST",
    token: str | None = TOKEN,
    **headers: str | None,
) -> bytes:
    """The bytes of a request that ends its connection; a header that is None is left out."""
    data = body if isinstance(body, bytes) else json.dumps({"idle": True} if body is None else body).encode()
    fields: dict[str, str | None] = {
        "Host": "127.0.0.1",
        "Content-Length": str(len(data)),
        "Connection": "close",
        "Authorization": None if token is None else f"Bearer {token}",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("latin-1") + data
