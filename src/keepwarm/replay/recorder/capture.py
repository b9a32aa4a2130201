"""What is kept of a response while it passes through: bounded, and without holding up a single chunk."""

from __future__ import annotations

import contextlib
from typing import NamedTuple, Protocol

import msgspec

from keepwarm.replay.recorder.assembly import Assembly, ChoicesAssembly
from keepwarm.replay.recorder.assembly_responses import ResponsesAssembly
from keepwarm.replay.recorder.headers import Headers, value_of
from keepwarm.replay.recorder.options import MAX_RESPONSE_BYTES
from keepwarm.replay.recorder.sse import EventSplitter
from keepwarm.trace.readers.fields import as_object
from keepwarm.trace.records import JsonObject

_DONE = b"[DONE]"
_EVENT_STREAM = b"text/event-stream"
_SHOWN_BYTES = 2_000  # a longer one is not shown in part: the cut could go through a credential


class Captured(NamedTuple):
    """What came back; ``error`` is what the answer itself says, or what is wrong with it."""

    response: msgspec.Raw | None = None
    usage: JsonObject | None = None
    error: str | None = None
    unrecorded: str | None = None


class Capture(Protocol):
    """One response."""

    is_stream: bool

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes; whether they hold the first the model generated. Mutates, never raises."""

    @property
    def is_complete(self) -> bool:
        """Whether the content says that it is complete, however the connection ends."""

    def result(self) -> Captured:
        """What is to be written. Mutates: call it once, after the last chunk."""


def capture_for(path: str, headers: Headers) -> Capture:
    """The capture that fits a response to ``path`` with these headers."""
    encoding = value_of(headers, b"content-encoding").strip().lower()
    if encoding not in (b"", b"identity"):
        return Unreadable(f"the response has the content encoding {encoding.decode('latin-1')!r}")
    if not value_of(headers, b"content-type").strip().lower().startswith(_EVENT_STREAM):
        length = value_of(headers, b"content-length")
        return WholeBody(int(length) if length.isdigit() else None)
    return EventStream(ResponsesAssembly() if path.endswith("/responses") else ChoicesAssembly())


class Unreadable:
    """A response that passes through unread."""

    is_stream = False
    is_complete = False

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def feed(self, chunk: bytes) -> bool:
        del chunk
        return False

    def result(self) -> Captured:
        return Captured(unrecorded=self._reason)


class WholeBody:
    """A response in one piece: JSON as it came, any other text as text; its length as announced, if it is."""

    is_stream = False

    def __init__(self, announced_bytes: int | None) -> None:
        self._announced_bytes = announced_bytes
        self._body = bytearray()
        self._length = 0

    @property
    def is_complete(self) -> bool:
        return self._length == self._announced_bytes

    def feed(self, chunk: bytes) -> bool:
        self._length += len(chunk)
        if self._length <= MAX_RESPONSE_BYTES:
            self._body += chunk
        else:
            self._body.clear()
        return False

    def result(self) -> Captured:
        if self._length > MAX_RESPONSE_BYTES:
            return Captured(unrecorded=_too_long())
        body = bytes(self._body)
        value = decoded(body)
        usage = as_object(value).get("usage")
        return Captured(
            response=as_one_line(body, value) if body else None,
            usage=usage if isinstance(usage, dict) else None,
            error=None if isinstance(value, dict) else _unexpected(body),
        )


class EventStream:
    """A stream of events, put together as they pass."""

    is_stream = True

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._splitter = EventSplitter()
        self._length = 0
        self._has_token = False
        self._is_done = False
        self._malformed = 0
        self._first_malformed = b""

    @property
    def is_complete(self) -> bool:
        return self._is_done or self._assembly.is_complete

    def feed(self, chunk: bytes) -> bool:
        self._length += len(chunk)
        if self._length > MAX_RESPONSE_BYTES:
            return False
        had_token = self._has_token
        for data in self._splitter.feed(chunk):
            self._add(data)
        return self._has_token and not had_token

    def _add(self, data: bytes) -> None:
        if data == _DONE:
            self._is_done = True
            return
        event = decoded(data)
        if isinstance(event, dict):
            with contextlib.suppress(RecursionError):  # nests deeper than any answer: as good as malformed
                self._has_token |= self._assembly.add(event)
                return
        self._malformed += 1
        self._first_malformed = self._first_malformed or data

    def result(self) -> Captured:
        if self._length > MAX_RESPONSE_BYTES:
            return Captured(unrecorded=_too_long())
        rest = self._splitter.finish()
        if rest is not None and (rest == _DONE or isinstance(decoded(rest), dict)):
            self._add(rest)  # else it was cut off, which is seen by what is missing
        answer = self._assembly.result()
        usage = as_object(answer).get("usage")
        return Captured(
            response=None if answer is None else encoded(answer),
            usage=usage if isinstance(usage, dict) else None,
            error=self._assembly.error or self._defect(),
        )

    def _defect(self) -> str | None:
        if not self._malformed:
            ended = self.is_complete or self._assembly.is_finished
            return None if ended else "the stream ended without its last event"
        first = f"{len(self._first_malformed)} bytes"
        if len(self._first_malformed) <= _SHOWN_BYTES:
            first = repr(self._first_malformed.decode("utf-8", "backslashreplace"))
        return f"{self._malformed} of the events are no JSON objects, the first: {first}"


def decoded(data: bytes) -> object:
    """The JSON value, or ``None`` for what is none."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None


def encoded(value: object) -> msgspec.Raw:
    """The value as JSON."""
    return msgspec.Raw(msgspec.json.encode(value))


def as_one_line(data: bytes, value: object) -> msgspec.Raw:
    """JSON byte for byte as it came, but on one line; what is no JSON as a text.

    ``value`` is ``decoded(data)``. A line end in valid JSON can only be white space between values.
    """
    if value is None and data.strip() != b"null":
        return msgspec.Raw(msgspec.json.encode(data.decode("utf-8", "backslashreplace")))
    if b"\n" in data or b"\r" in data:
        data = data.replace(b"\r", b" ").replace(b"\n", b" ")
    return msgspec.Raw(data.strip())


def _unexpected(body: bytes) -> str:
    if not body:
        return "the response is empty"
    return f"the response is no JSON object ({len(body)} bytes)"


def _too_long() -> str:
    return f"the response is longer than {MAX_RESPONSE_BYTES // 2**20} MiB"
