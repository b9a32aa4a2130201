"""Which headers go on, which may name a host, and which values must never be stored."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from urllib.parse import parse_qsl, unquote_to_bytes

Headers = list[tuple[bytes, bytes]]

# RFC 9110, 7.6.1: they concern one connection, not the message.
_HOP_BY_HOP = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
_CREDENTIAL = re.compile("auth|cookie|credential|key|passw|secret|signature|token")
_SHORTEST_SECRET = 8  # characters; dummy keys such as EMPTY are words that prompts may hold
_LETTER = re.compile(rb"[A-Za-z]")


def forwarded(headers: Iterable[tuple[bytes, bytes]], without: Collection[bytes] = ()) -> Headers:
    """Headers with lower-case names, less those of the connection and those of ``without``."""
    lowered = [(name.lower(), value) for name, value in headers]
    of_connection = {
        option.strip().lower()
        for name, value in lowered
        if name == b"connection"
        for option in value.split(b",")
    }
    dropped = _HOP_BY_HOP | of_connection | set(without)
    return [(name, value) for name, value in lowered if name not in dropped]


def relocated(headers: Headers, upstream: bytes) -> Headers:
    """Headers whose ``location`` leads through this proxy again where it leads to the upstream."""
    there = upstream + b"/"
    return [
        (name, b"/" + value.removeprefix(there) if name == b"location" and value.startswith(there) else value)
        for name, value in headers
    ]


def value_of(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes:
    """The first value of a header, empty where it is missing."""
    return next((value for key, value in headers if key.lower() == name), b"")


def host_name(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The name in the Host header without its port, empty where it is missing."""
    host = value_of(headers, b"host").decode("latin-1").strip()
    return host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]


def is_credential(name: str) -> bool:
    """Whether a header, parameter or field of this lower-case name carries credentials."""
    return _CREDENTIAL.search(name) is not None


def secrets_of(headers: Iterable[tuple[bytes, bytes]], query: bytes) -> frozenset[bytes]:
    """Values of a request that must not be stored, should anything repeat them."""
    found: set[bytes] = set()
    for name, value in headers:
        if is_credential(name.lower().decode("latin-1")):
            found.add(value.strip())
            found.update(_inner_values(name.lower(), value))
    for name, value in parse_qsl(query, keep_blank_values=True):
        if is_credential(name.lower().decode("latin-1")):
            found.update((value, unquote_to_bytes(value)))
    return searchable_secrets(found)


def searchable_secrets(values: Iterable[bytes]) -> frozenset[bytes]:
    """Those that are no mere word or number, and so can be searched for in prompts."""
    return frozenset(value for value in values if len(value) >= _SHORTEST_SECRET and _LETTER.search(value))


def _inner_values(name: bytes, value: bytes) -> list[bytes]:
    """The key after ``Bearer``; the values of cookies."""
    if b"cookie" in name:
        return [pair.partition(b"=")[2].strip().strip(b'"') for pair in value.split(b";")]
    return [value.strip().partition(b" ")[2].strip()]
