"""As much of HTTP/1.1 as one route needs (RFC 9112), strict, and bounded in bytes and time.

A body has a Content-Length. What is not understood is refused and ends the connection.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import NamedTuple

from keepwarm.vllm.hints.hint import MOST_BODY_BYTES, Refused

MOST_HEAD_BYTES = 8 * 1024
IDLE_S = 15.0  # between two requests of a connection
REQUEST_S = 5.0  # from the first byte of a request to the last of its answer
_ONCE = frozenset(("host", "content-length", "authorization"))


class Head(NamedTuple):
    """Request line and headers, whose names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    keeps_alive: bool


async def read_head(reader: asyncio.StreamReader, first: bytes) -> Head:
    """The head of which ``first`` has come already. Raises Refused, IncompleteReadError."""
    try:
        data = first + await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise Refused(431, f"the head of a request is {MOST_HEAD_BYTES} bytes at most") from None
    if len(data) > MOST_HEAD_BYTES:
        raise Refused(431, f"the head of a request is {MOST_HEAD_BYTES} bytes at most")
    line, *fields = data[:-4].decode("latin-1").split("\r\n")
    method, target, version, *rest = [*line.split(" "), "", "", ""][: max(3, line.count(" ") + 1)]
    if rest or not method.isalpha() or not target or version not in ("HTTP/1.1", "HTTP/1.0"):
        raise Refused(400, "the request line is not that of HTTP/1.1")
    headers: dict[str, str] = {}
    for field in fields:
        name, colon, value = field.partition(":")
        if not colon or not name.replace("-", "").replace("_", "").isalnum():
            raise Refused(400, "a header is malformed")
        name = name.lower()
        if name in headers and name in _ONCE:
            raise Refused(400, f"the header {name!r} is there twice")
        headers[name] = value.strip(" \t")
    connection = headers.get("connection", "").lower()
    keeps_alive = version == "HTTP/1.1" and "close" not in connection
    return Head(method, target, headers, keeps_alive)


async def read_body(reader: asyncio.StreamReader, head: Head) -> bytes:
    """The body, as long as it says. Raises Refused, IncompleteReadError."""
    length = head.headers.get("content-length", "")
    if "transfer-encoding" in head.headers or not length:
        raise Refused(411, "a body needs a Content-Length")
    if not (length.isascii() and length.isdigit()):
        raise Refused(400, "the Content-Length is no number")
    if len(length) > 9 or int(length) > MOST_BODY_BYTES:
        raise Refused(413, f"a hint is {MOST_BODY_BYTES} bytes at most")
    return await reader.readexactly(int(length))


def answer(status: int, reason: str | None = None, *, keeps_alive: bool) -> bytes:
    """The whole answer; ``reason`` becomes ``{"error": reason}``."""
    body = b"" if reason is None else json.dumps({"error": reason}).encode() + b"\n"
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"Content-Length: {len(body)}",
        f"Connection: {'keep-alive' if keeps_alive else 'close'}",
        *(["Content-Type: application/json"] if body else []),
        *(["WWW-Authenticate: Bearer"] if status == HTTPStatus.UNAUTHORIZED else []),
        *(["Allow: POST"] if status == HTTPStatus.METHOD_NOT_ALLOWED else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body
