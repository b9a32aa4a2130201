"""What our own servers share: a socket that clients can connect to, and an end by signal."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from keepwarm._errors import InputError

_BACKLOG = 2048
_ENDING = (signal.SIGINT, signal.SIGTERM)


class Server(Protocol):
    """What is asked to end: a ``uvicorn.Server``."""

    should_exit: bool


class Ending:
    """The wish to end, which may come before there is a server."""

    def __init__(self) -> None:
        self._is_wished = False
        self._server: Server | None = None

    def wish(self, _number: int, _frame: FrameType | None) -> None:
        """Handles a signal; uvicorn, which handles them while it serves, raises them again afterwards."""
        self._is_wished = True
        if self._server is not None:
            self._server.should_exit = True

    def of(self, server: Server) -> None:
        """That server is meant; it is not to start if it is to end already."""
        self._server = server
        server.should_exit = self._is_wished


@contextmanager
def ended_by_signals() -> Iterator[Ending]:
    """SIGINT and SIGTERM become a wish; to be called in the main thread."""
    ending = Ending()
    before = [(number, signal.signal(number, ending.wish)) for number in _ENDING]
    try:
        yield ending
    finally:
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def listening(host: str, port: int, *, advice: str = "--port or --host") -> Iterator[socket.socket]:
    """A socket that clients can connect to from now on; raises InputError, with the option to change."""
    name = host.removeprefix("[").removesuffix("]")
    try:
        family, *_, address = socket.getaddrinfo(
            name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # asyncio turns Nagle's algorithm off (40 ms a response) only where the protocol is named.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except (OSError, UnicodeError, OverflowError) as error:
        raise _cannot_listen(host, port, error, advice) from None
    with listener:
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except OSError as error:
            raise _cannot_listen(host, port, error, advice) from None
        yield listener


def base_url(host: str, listener: socket.socket) -> str:
    """``http://127.0.0.1:8001``: where ``listener`` is reached by the name ``host``."""
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host and not host.startswith("[") else f"http://{host}:{port}"


def _cannot_listen(host: str, port: int, error: Exception, advice: str) -> InputError:
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(f"cannot listen on {host!r} port {port}: {reason}; name another {advice}")
