"""The control endpoint of an engine: a thread on loopback, and a queue between it and the scheduler.

One thread with an event loop, not a thread for each connection: whatever clients do, the engine's process
has one thread more, and the interpreter lock is taken for some 200 µs per hint, at most ``MOST_PER_SECOND``
times a second. The scheduler takes what has come in once per step, without a lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import socket
import threading
from collections import deque
from urllib.parse import unquote_to_bytes

from keepwarm.policies.sessions import SessionId
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.vllm.hints.apply import HintCounts, apply
from keepwarm.vllm.hints.hint import MOST_ID_CHARACTERS, Hint, Refused, read_hint
from keepwarm.vllm.hints.token import ControlSettings, TokenError, read_token
from keepwarm.vllm.hints.wire import (
    IDLE_S,
    MOST_HEAD_BYTES,
    REQUEST_S,
    Head,
    answer,
    read_body,
    read_head,
)

logger = logging.getLogger("vllm.cachewise")  # below vLLM's own logger, so that its handlers print it

HOST = "127.0.0.1"
ROUTE = "/keepwarm/sessions/"
MOST_PENDING = 4_096
MOST_CONNECTIONS = 64
MOST_PER_SECOND = 500
MOST_PER_STEP = 256
MOST_UNREAD_BYTES = 1024 * 1024  # read and forgotten after a refusal
_BURST_S = 0.1
_STOP_S = 2.0
_HOSTS = frozenset((HOST, "localhost"))


class HintListener:
    """Takes hints until it is closed. Made by ``start``."""

    def __init__(self, token: str, listening: socket.socket) -> None:
        self.counts = HintCounts()
        self.port: int = listening.getsockname()[1]
        self._token = token.encode()
        self._pending: deque[Hint] = deque()
        self._logged: set[object] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._next_s = 0.0
        self._loop = asyncio.SelectorEventLoop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(
            target=self._run, args=(listening,), name="keepwarm-hints", daemon=True
        )
        self._thread.start()

    @staticmethod
    def start(settings: ControlSettings, engine: int = 0) -> HintListener | None:
        """A listener on 127.0.0.1; None if none is wanted, there is no token, or nothing can listen there.

        ``engine`` is the rank of a data-parallel engine, which takes the port that is so much higher. Never
        raises; what is wrong is logged once.
        """
        port = settings.control_port
        if port is None:
            return None
        port = port + engine if port else 0
        try:
            listener = HintListener(read_token(settings), _listening(port))
        except TokenError as error:
            logger.warning("CacheWise: hints are not taken: %s", error)
            return None
        except (OSError, OverflowError, RuntimeError) as error:
            logger.warning("CacheWise: hints are not taken, nothing can listen on port %d: %s", port, error)
            return None
        logger.info("CacheWise: hints are taken at http://%s:%d%s{id}", HOST, listener.port, ROUTE)
        return listener

    def drain(self, table: SessionTable, now_s: float) -> None:
        """Tell ``table`` what came in, ``now_s`` being its time. At most ``MOST_PER_STEP``; never raises."""
        pending = self._pending
        if not pending:
            return
        try:
            for _ in range(min(len(pending), MOST_PER_STEP)):
                apply(pending.popleft(), table, now_s, self.counts)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self._log_once("drain", f"a hint could not be applied: {error!r}")

    def close(self) -> None:
        """End the thread and free the port. A second call does nothing; never raises."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._stopping.set)
        if self._thread is not threading.current_thread():
            self._thread.join(_STOP_S)

    def _run(self, listening: socket.socket) -> None:
        loop = self._loop
        loop.set_exception_handler(
            lambda _loop, context: self._log_once("loop", str(context.get("message", "fault")))
        )
        try:
            loop.run_until_complete(self._serve(listening))
        except Exception as error:  # noqa: BLE001 - the engine goes on without hints
            self._log_once("thread", f"hints are not taken any more: {error!r}")
        finally:
            listening.close()
            loop.close()

    async def _serve(self, listening: socket.socket) -> None:
        server = await asyncio.start_server(self._connected, sock=listening, limit=MOST_HEAD_BYTES)
        await self._stopping.wait()
        # A server that is closed while it accepts somebody loses that connection without closing it.
        self._loop.remove_reader(listening)
        give_up_s = self._loop.time() + _STOP_S
        while (tasks := asyncio.all_tasks() - {asyncio.current_task()}) and self._loop.time() < give_up_s:
            for writer in self._writers:
                writer.transport.abort()
            await asyncio.wait(tasks, timeout=_STOP_S / 10, return_when=asyncio.FIRST_COMPLETED)
        server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            if self._stopping.is_set():
                return
            if len(self._writers) > MOST_CONNECTIONS:
                await self._refuse(
                    reader, writer, Refused(503, f"{MOST_CONNECTIONS} connections are open already")
                )
                return
            while await self._exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            pass  # the client went, or sends nothing any more
        except Exception as error:  # noqa: BLE001 - one connection ends, the next is served
            self._log_once("connection", f"a connection ended in a fault: {error!r}")
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether another may follow."""
        async with asyncio.timeout(IDLE_S):
            first = await reader.read(1)
        if not first:
            return False
        try:
            async with asyncio.timeout(REQUEST_S):
                keeps_alive = await self._take(reader, first)
                writer.write(answer(202, keeps_alive=keeps_alive))
                await writer.drain()
                return keeps_alive
        except Refused as refused:
            await self._refuse(reader, writer, refused)
        except TimeoutError:
            await self._refuse(reader, writer, Refused(408, f"a request takes {REQUEST_S:.0f} s at most"))
        return False

    async def _take(self, reader: asyncio.StreamReader, first: bytes) -> bool:
        """Read a request and queue its hint; whether its connection is kept. Raises Refused."""
        head = await read_head(reader, first)
        await self._pace()
        session = self._permitted(head)
        hint = read_hint(session, await read_body(reader, head))
        if len(self._pending) >= MOST_PENDING:
            with contextlib.suppress(IndexError):  # the scheduler took them meanwhile
                self._pending.popleft()
                self.counts.dropped += 1
                self._log_once("full", f"more than {MOST_PENDING} hints wait, the oldest are dropped")
        self._pending.append(hint)
        self.counts.accepted += 1
        return head.keeps_alive

    def _permitted(self, head: Head) -> SessionId:
        """Whose hint it is, if the client may give one. Raises Refused."""
        host = head.headers.get("host", "").lower()
        if host.removesuffix(f":{self.port}") not in _HOSTS or "origin" in head.headers:
            # A page in a browser may have its own name resolved to this machine.
            raise Refused(403, f"the Host header has to name {HOST} or localhost, and no Origin be there")
        scheme, _, token = head.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(
            token.strip(" ").encode("latin-1"), self._token
        ):
            raise Refused(401, "Authorization: Bearer TOKEN is missing or has another token")
        if not head.target.startswith(ROUTE):
            raise Refused(404, f"there is nothing but {ROUTE}{{id}}")
        if head.method != "POST":
            raise Refused(405, "a hint is sent with POST")
        return _session_id(head.target.removeprefix(ROUTE))

    async def _refuse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, refused: Refused
    ) -> None:
        """Answer, and let the client read it before the connection ends."""
        self.counts.refused += 1
        self._log_once(refused.status, f"a hint was refused with {refused.status}: {refused.reason}")
        async with asyncio.timeout(_STOP_S):
            writer.write(answer(refused.status, refused.reason, keeps_alive=False))
            writer.write_eof()
            await writer.drain()
            # Closed with bytes unread, the connection would be reset and the answer lost.
            unread = MOST_UNREAD_BYTES
            while unread > 0 and (chunk := await reader.read(unread)):
                unread -= len(chunk)

    async def _pace(self) -> None:
        """Wait until the rate of requests, good or bad, is below ``MOST_PER_SECOND``."""
        now_s = self._loop.time()
        self._next_s = max(self._next_s, now_s - _BURST_S) + 1 / MOST_PER_SECOND
        if self._next_s > now_s:
            await asyncio.sleep(self._next_s - now_s)

    def _log_once(self, kind: object, message: str) -> None:
        if kind not in self._logged:
            self._logged.add(kind)
            logger.warning("CacheWise: %s. More of the kind are only counted.", message)


def _listening(port: int) -> socket.socket:
    # asyncio turns Nagle's algorithm off only where the protocol is named.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen(MOST_CONNECTIONS)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def _session_id(segment: str) -> SessionId:
    """Of a path's last, percent-encoded segment. Raises Refused."""
    try:
        session = unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        raise Refused(400, "the session's id is not percent-encoded UTF-8") from None
    if not session or "/" in segment or "?" in segment or "#" in segment:
        raise Refused(404, f"there is nothing but {ROUTE}{{id}}; a '/' of an id is written %2F")
    if len(session) > MOST_ID_CHARACTERS:
        raise Refused(400, f"a session's id is {MOST_ID_CHARACTERS} characters at most")
    return SessionId(session)
