"""The line of one request: what it says, and what is taken out of it before it is written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from keepwarm.replay.recorder.capture import as_one_line, decoded, encoded
from keepwarm.replay.recorder.headers import searchable_secrets
from keepwarm.trace.readers.fields import as_list, as_object, as_text, session_of
from keepwarm.trace.records import JsonObject

LINE_START = b'{"id":"'
"""How every line begins."""

REMOVED = "‹removed›"
"""What stands in place of a credential."""

_SHORTEST_CUT = 4  # characters of a credential that are worth hiding

_CREDENTIAL_FIELD = re.compile(
    r"api[-_]?key|authorization|(access|ad|auth|bearer|session)[-_]token|^token$|passw|secret|credential"
    r"|^(extra[-_])?headers$"
)


class Failure(msgspec.Struct, frozen=True):
    """What went wrong.

    ``kind`` is ``status`` (the upstream refused), ``upstream-unreachable``, ``upstream-closed`` (in the
    middle of a response), ``upstream-error`` (the response itself says so, or is none),
    ``client-disconnected``, ``shutdown`` (the recording ended first), ``bad-request`` (it could not be sent
    on) or ``keepwarm-error`` (a bug).
    """

    kind: str
    message: str


class Line(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One request. ``id``, ``timestamp``, ``session_id``, ``body``, ``response`` are what readers look for.

    ``timestamp`` and ``end`` are epoch seconds, ``time_to_first_token`` is seconds since the start and
    only known of streams; ``status`` is what the client got, ``null`` if it got none. ``unrecorded``
    says of ``body`` and ``response`` why one of them is not there.
    """

    id: str
    timestamp: float
    end: float
    status: int | None
    path: str
    time_to_first_token: float | None = None
    session_id: str | None = None
    stream: bool = False
    error: Failure | None = None
    unrecorded: dict[str, str] = {}
    usage: JsonObject | None = None
    body: msgspec.Raw | None
    response: msgspec.Raw | None = None


class Body(NamedTuple):
    """A request body as it is recorded, the session it names, and the credentials taken out of it.

    ``has_tools``: whether the model may call some.
    """

    raw: msgspec.Raw
    session_id: str | None = None
    secrets: frozenset[bytes] = frozenset()
    has_tools: bool = False


def recorded_body(data: bytes) -> Body:
    """A request body byte for byte as it came, less the credentials in the fields that may hold some."""
    value = decoded(data)
    if not isinstance(value, dict):
        return Body(as_one_line(data, value))
    conversation = value.get("conversation")
    session = session_of(value, value.get("metadata")) or as_text(
        conversation.get("id") if isinstance(conversation, dict) else conversation
    )
    removed = _without_credentials(value)
    raw = encoded(value) if removed else as_one_line(data, value)
    secrets = searchable_secrets(text.encode() for text in removed)
    return Body(raw, session, secrets, bool(value.get("tools")))


def recorded_response(raw: msgspec.Raw | None) -> msgspec.Raw | None:
    """A response, less the credentials in the tools that it repeats."""
    if raw is None or b'"tools"' not in bytes(raw):
        return raw
    value = decoded(bytes(raw))
    if not isinstance(value, dict) or not _without_credentials(value):
        return raw
    return encoded(value)


def _without_credentials(body: JsonObject) -> list[str]:
    """Blank, in place, credentials in parameters and settings of remote tools; the texts removed."""
    removed: list[str] = []
    for holder in (body, *map(as_object, as_list(body.get("tools")))):
        for key, value in holder.items():
            if value and not isinstance(value, bool | int) and _CREDENTIAL_FIELD.search(key.lower()):
                removed += _texts(value)
                holder[key] = REMOVED
    return removed


def _texts(value: object) -> list[str]:
    values = value.values() if isinstance(value, dict) else (value,)
    return [text for text in values if isinstance(text, str)]


def without_cut_secret(raw: msgspec.Raw, secrets: Iterable[bytes]) -> msgspec.Raw:
    """A text that broke off, less the beginning of a credential that it may end with."""
    text = bytes(raw)
    if not text.startswith(b'"'):
        return raw
    inner = text[1:-1]
    beginnings = (secret[:size] for secret in secrets for size in range(_SHORTEST_CUT, len(secret)))
    cut = max(map(len, filter(inner.endswith, beginnings)), default=0)
    return raw if cut == 0 else msgspec.Raw(b'"' + inner[:-cut] + REMOVED.encode() + b'"')


def encode_line(line: Line, secrets: Iterable[bytes]) -> bytes:
    """The bytes of a line, its end included; no value of ``secrets`` is in them."""
    data = msgspec.json.encode(line)
    forms = {form for secret in secrets for form in (secret, _as_in_json(secret))}
    found = [form for form in forms if form in data]
    if not found:
        return data + b"\n"
    for secret in sorted(found, key=len, reverse=True):
        data = data.replace(secret, REMOVED.encode())
    if data.startswith(LINE_START) and isinstance(decoded(data), dict):
        return data + b"\n"
    # The credential is a piece of JSON itself: rather no content than a broken line, or the credential.
    reason = {"body": "it repeats a credential", "response": "it repeats a credential"}
    bare = msgspec.structs.replace(
        line, session_id=None, error=None, usage=None, body=None, response=None, unrecorded=reason
    )
    return msgspec.json.encode(bare) + b"\n"


def _as_in_json(secret: bytes) -> bytes:
    return msgspec.json.encode(secret.decode("utf-8", "replace"))[1:-1]
