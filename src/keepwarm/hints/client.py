"""Sends hints to the control endpoint of a server. Nothing waits for it, and nothing fails because of it.

A thread of its own sends what is put into a bounded queue, so the same client serves an application with
threads and one with an event loop. What cannot be sent is counted, and logged once.
"""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import httpx2

from keepwarm._errors import InputError
from keepwarm._urls import http_url
from keepwarm.hints.answers import AWAITS_HUMAN, Told
from keepwarm.reuse.calls import ToolCall

logger = logging.getLogger("keepwarm.hints")

MOST_PENDING = 1_024
TIMEOUT_S = 2.0
CLOSE_S = 5.0  # how long ``close`` waits for what is still to be sent
_KEEPALIVE_S = 5.0  # below what the endpoint allows
_HERE = frozenset(("127.0.0.1", "localhost"))


class _Pending(NamedTuple):
    session_id: str
    told: Callable[[], Told | None]
    at_s: float


class HintClient:
    """Of the control endpoint at ``base_url``, or of several: each engine of a data-parallel server has one.

    ``transport`` replaces the network. Raises InputError: no URL of this machine, or a token that HTTP cannot
    carry; later nothing raises. ``sent``, ``failed`` and ``dropped`` count hints, those of all endpoints.
    """

    def __init__(
        self, base_url: str | Sequence[str], token: str, *, transport: httpx2.BaseTransport | None = None
    ) -> None:
        urls = [base_url] if isinstance(base_url, str) else list(base_url)
        self._urls = [_checked_url(url) for url in urls]
        if not token or not token.isascii() or not token.isprintable():
            raise InputError(
                "the token of the control endpoint is empty, or HTTP cannot carry it; take letters and digits"
            )
        self.sent = self.failed = self.dropped = 0
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._transport = transport
        self._queue: queue.Queue[_Pending | None] = queue.Queue(MOST_PENDING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._is_closed = False
        self._has_logged = False

    def tool(self, session_id: str, tool: str, arguments: str = "") -> None:
        """A tool starts now; ``arguments`` are a JSON text or a bare command. Returns at once."""
        self.later(session_id, ToolCall(tool, arguments)._asdict)

    def idle(self, session_id: str) -> None:
        """Nothing runs, and nobody is waited for. Returns at once."""
        self.tell(session_id, {"idle": True})

    def awaits_human(self, session_id: str) -> None:
        """A person has to answer. Returns at once."""
        self.tell(session_id, AWAITS_HUMAN)

    def finished(self, session_id: str) -> None:
        """The session sends no more requests. Returns at once."""
        self.tell(session_id, {"finished": True})

    def tell(self, session_id: str, told: Told) -> None:
        """A hint as the endpoint takes it. Returns at once."""
        self.later(session_id, lambda: told)

    def later(self, session_id: str, told: Callable[[], Told | None]) -> None:
        """A hint that is worked out in the background; None for none. Returns at once."""
        if self._is_closed:
            self.dropped += 1
            return
        try:
            self._start()
            self._put(_Pending(session_id, told, time.monotonic()))
        except Exception as error:  # noqa: BLE001 - an application works whether or not hints are sent
            self._fail(error)

    def close(self) -> None:
        """Send what waits, for ``CLOSE_S`` at most. A second call does nothing; never raises."""
        with self._lock:
            thread, self._thread, self._is_closed = self._thread, None, True
        if thread is not None:
            self._put(None)
            thread.join(CLOSE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self._run, name="keepwarm-hints", daemon=True)
                self._thread.start()

    def _put(self, pending: _Pending | None) -> None:
        while True:
            try:
                self._queue.put_nowait(pending)
                return
            except queue.Full:
                with contextlib.suppress(queue.Empty):
                    self._queue.get_nowait()
                    self.dropped += 1

    def _run(self) -> None:
        # Not trust_env: no proxy stands before a server on this machine.
        limits = httpx2.Limits(keepalive_expiry=_KEEPALIVE_S)
        with httpx2.Client(
            headers=self._headers,
            timeout=TIMEOUT_S,
            limits=limits,
            transport=self._transport,
            trust_env=False,
        ) as client:
            while (pending := self._queue.get()) is not None:
                try:
                    self._send(client, pending)
                except Exception as error:  # noqa: BLE001 - the next one may fare better
                    self._fail(error)

    def _send(self, client: httpx2.Client, pending: _Pending) -> None:
        told = pending.told()
        if told is None:
            return
        body: dict[str, Any] = dict(told)
        if "tool" in told:
            call = ToolCall(told["tool"], told["arguments"]).bounded()
            body = {**call._asdict(), "elapsed_s": round(time.monotonic() - pending.at_s, 6)}
        content = json.dumps(body).encode()
        for url in self._urls:
            try:
                response = client.post(url + quote(pending.session_id, safe=""), content=content)
            except httpx2.HTTPError as error:
                self._fail(error)
                continue
            if response.status_code == httpx2.codes.ACCEPTED:
                self.sent += 1
            else:
                self._fail(f"{url}… answered {response.status_code}: {response.text[:200]!r}")

    def _fail(self, error: object) -> None:
        self.failed += 1
        if not self._has_logged:
            self._has_logged = True
            shown = error if isinstance(error, str) else repr(error)
            logger.warning("a hint could not be sent, more are only counted: %s", shown)


def _checked_url(base_url: str) -> str:
    """Where ids are appended. Raises InputError; a password in the URL is not repeated."""
    if any(mark in base_url for mark in "@?#"):
        raise InputError(
            "the URL of the control endpoint is scheme, host and port alone; write http://localhost:8010"
        )
    url = http_url(base_url)
    if url is None or url.scheme != "http" or url.host not in _HERE:
        raise InputError(
            f"{base_url!r} is no http URL of this machine, and the control endpoint listens nowhere else; "
            "write http://127.0.0.1:8010"
        )
    return f"{str(url.copy_with(path='/')).rstrip('/')}/keepwarm/sessions/"
