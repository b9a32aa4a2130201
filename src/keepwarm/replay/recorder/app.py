"""The proxy itself: an ASGI application that sends requests on and answers as it is answered."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

import httpx2
import msgspec

from keepwarm.replay.recorder.capture import capture_for
from keepwarm.replay.recorder.exchange import Exchange, Tally
from keepwarm.replay.recorder.headers import Headers, forwarded, host_name, relocated
from keepwarm.replay.recorder.hinting import tell_of
from keepwarm.replay.recorder.journal import Journal
from keepwarm.replay.recorder.options import MAX_BODY_BYTES, RecorderOptions, is_loopback_host

RECORDED = frozenset(("/v1/chat/completions", "/v1/completions", "/v1/responses"))
"""Paths whose POST requests are recorded; everything else only passes through."""

_CONNECT_S = 10.0  # there is no limit on how long an answer may take: the client decides

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class ClientGoneError(Exception):
    """The client hung up before its request was complete."""


class RecordingProxy:
    """One upstream, one journal. Never raises for what a client or the upstream does."""

    def __init__(
        self, options: RecorderOptions, transport: httpx2.AsyncBaseTransport, journal: Journal
    ) -> None:
        self.tally = Tally()
        self._upstream = options.upstream
        # Parsing a URL takes as long as recording a short answer.
        self._urls = {path.encode(): options.upstream.url(path.encode(), b"") for path in RECORDED}
        self._session_header = options.session_header.lower().encode("ascii")
        self._checks_host = options.is_loopback
        self._transport = transport
        self._journal = journal
        self._hints = options.hints

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        if self._checks_host and not is_loopback_host(host_name(scope["headers"])):
            # A page in a browser may have its own name resolved to this machine.
            message = "the Host header does not name this machine; use 127.0.0.1 or localhost"
            await _answer_error(send, 403, "host_not_allowed", message)
        elif scope["method"] == "POST" and scope["path"].rstrip("/") in RECORDED:
            await self._record(scope, receive, send)
        else:
            await self._watched(scope, receive, send, None)

    async def _record(self, scope: Message, receive: Receive, send: Send) -> None:
        path = scope["path"].rstrip("/")
        exchange = Exchange(path, scope["headers"], scope["query_string"], self._session_header)
        self.tally.requests += 1
        try:
            await self._watched(scope, receive, send, exchange)
        except asyncio.CancelledError:
            exchange.fail("shutdown", "the recording ended before the response did")
            raise
        except Exception as error:
            exchange.fail("keepwarm-error", f"{type(error).__name__}: {error}")
            raise
        finally:
            self._keep(exchange)

    def _keep(self, exchange: Exchange) -> None:
        """Write the line, once."""
        if exchange.is_kept:
            return
        exchange.is_kept = True
        try:
            self._journal.write(exchange.line())
        except Exception as error:  # noqa: BLE001 - a request is answered whether or not it can be recorded
            self._journal.give_up(f"{type(error).__name__}: a bug in keepwarm, please report it")
        if self._hints is not None and exchange.answer is not None:
            tell_of(self._hints, exchange.answer)
        self.tally.failed += exchange.failure is not None

    async def _watched(self, scope: Message, receive: Receive, send: Send, exchange: Exchange | None) -> None:
        """Relay a request until it is answered or its client hangs up, which ends the upstream's work too."""
        body = _RequestBody(receive, exchange)
        relay = asyncio.create_task(self._relay(scope, body, send, exchange))
        gone = asyncio.create_task(body.wait_until_gone())
        try:
            await asyncio.wait((relay, gone), return_when=asyncio.FIRST_COMPLETED)
            if not relay.done() and exchange is not None and not exchange.is_complete:
                exchange.fail("client-disconnected", "the client hung up before the response was complete")
        finally:
            gone.cancel()
            relay.cancel()
            await asyncio.wait((relay,))
        if not relay.cancelled():
            relay.result()

    async def _relay(self, scope: Message, body: _RequestBody, send: Send, exchange: Exchange | None) -> None:
        try:
            request = await self._request(scope, body, is_recorded=exchange is not None)
            response = await self._transport.handle_async_request(request)
        except ClientGoneError:
            if exchange is not None:
                exchange.fail("client-disconnected", "the client hung up before its request was complete")
            return
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError) as error:
            await self._refuse(send, exchange, 400, "bad-request", f"the request cannot be sent on: {error}")
            return
        except httpx2.TransportError as error:
            reason = str(error) or type(error).__name__
            message = f"no answer from {self._upstream.shown}: {reason}; check that the server runs"
            await self._refuse(send, exchange, 502, "upstream-unreachable", message)
            return
        try:
            await self._pass_on(response, send, exchange, scope["path"])
        finally:
            await response.aclose()

    async def _request(self, scope: Message, body: _RequestBody, *, is_recorded: bool) -> httpx2.Request:
        """The same request, addressed to the upstream."""
        # A recorded answer has to be readable, so the upstream is asked not to compress it.
        replaced = (b"host", b"expect", *((b"accept-encoding",) if is_recorded else ()))
        headers: Headers = forwarded(scope["headers"], replaced)
        if is_recorded:
            headers.append((b"accept-encoding", b"identity"))
        if not scope["raw_path"].startswith(b"/"):
            raise httpx2.InvalidURL("its target is no path")
        beginning = await body.read()
        content: bytes | AsyncIterator[bytes] = beginning
        if body.has_more:
            content = body.stream(beginning)
        else:
            headers = [header for header in headers if header[0] != b"content-length"]
        known = None if scope["query_string"] else self._urls.get(scope["raw_path"])
        return httpx2.Request(
            scope["method"],
            known or self._upstream.url(scope["raw_path"], scope["query_string"]),
            headers=headers,
            content=content or None,
            extensions={"timeout": {"connect": _CONNECT_S, "read": None, "write": None, "pool": None}},
        )

    async def _pass_on(
        self, response: httpx2.Response, send: Send, exchange: Exchange | None, path: str
    ) -> None:
        """Every chunk as it comes. A response that breaks off breaks off for the client as well."""
        headers = relocated(forwarded(response.headers.raw), self._upstream.shown.encode())
        if exchange is not None:
            exchange.answered(response.status_code, capture_for(path, headers))
        await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        try:
            async for chunk in response.stream:
                if exchange is not None:
                    exchange.chunk(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                if exchange is not None and exchange.is_complete:
                    self._keep(exchange)  # before anything else happens here: a crash loses this line at most
        except httpx2.TransportError as error:
            if exchange is not None and not exchange.is_complete:
                exchange.fail("upstream-closed", str(error) or type(error).__name__)
            return
        if exchange is not None:
            self._keep(exchange)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _refuse(
        self, send: Send, exchange: Exchange | None, status: int, kind: str, message: str
    ) -> None:
        if exchange is not None:
            exchange.status = status
            exchange.fail(kind, message)
            self._keep(exchange)
        await _answer_error(send, status, kind.replace("-", "_"), message)


class _RequestBody:
    """The body of one request; who waits for the client to hang up reads it to its end first."""

    def __init__(self, receive: Receive, exchange: Exchange | None) -> None:
        self.has_more = True
        self._receive = receive
        self._exchange = exchange
        self._is_read = asyncio.Event()

    async def read(self) -> bytes:
        """All of it, or its beginning where it is too long to be held. Raises ClientGoneError."""
        held = bytearray()
        while self.has_more and len(held) <= MAX_BODY_BYTES:
            held += await self._next()
        return bytes(held)

    async def stream(self, beginning: bytes) -> AsyncIterator[bytes]:
        """The beginning and the rest as it comes. Raises ClientGoneError."""
        yield beginning
        while self.has_more:
            yield await self._next()

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        chunk: bytes = message.get("body", b"")
        if self._exchange is not None:
            self._exchange.body(chunk)
        if not message.get("more_body", False):
            self.has_more = False
            self._is_read.set()
        return chunk

    async def wait_until_gone(self) -> None:
        """Ends when the client hangs up, or has got all of its answer."""
        await self._is_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def _answer_error(send: Send, status: int, code: str, message: str) -> None:
    """An error as the clients of the OpenAI APIs read it."""
    error = {"message": f"keepwarm record: {message}", "type": "keepwarm_error", "param": None, "code": code}
    body = msgspec.json.encode({"error": error})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    with contextlib.suppress(OSError):
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
