"""One request from its first byte to its line."""

from __future__ import annotations

import time
import uuid
from typing import NamedTuple

import msgspec

from keepwarm.replay.recorder.capture import Capture, Captured
from keepwarm.replay.recorder.headers import Headers, secrets_of, value_of
from keepwarm.replay.recorder.lines import (
    Failure,
    Line,
    encode_line,
    recorded_body,
    recorded_response,
    without_cut_secret,
)
from keepwarm.replay.recorder.options import MAX_BODY_BYTES


class Answer(NamedTuple):
    """A complete answer to a request of a session, as JSON; whether that request offered tools."""

    session_id: str
    response: msgspec.Raw
    has_tools: bool


class Exchange:
    """What is known of a request so far. Nothing here waits, and ``line`` may be asked for at any moment."""

    def __init__(self, path: str, headers: Headers, query: bytes, session_header: bytes) -> None:
        self._path = path
        self._timestamp_s = time.time()
        self._started_s = time.perf_counter()
        self._secrets = secrets_of(headers, query)
        self._session_id = value_of(headers, session_header).decode("utf-8", "replace") or None
        self._body = bytearray()
        self._body_length = 0
        self._body_encoding = value_of(headers, b"content-encoding")
        self._first_token_s: float | None = None
        self._capture: Capture | None = None
        self.status: int | None = None
        """What the client was answered; ``None`` as long as it was not."""
        self.failure: Failure | None = None
        self.is_kept = False
        """Whether the line was written."""
        self.answer: Answer | None = None
        """What a server can be told of, once the line was made."""

    def body(self, chunk: bytes) -> None:
        """The next bytes of the request body."""
        self._body_length += len(chunk)
        if self._body_length <= MAX_BODY_BYTES:
            self._body += chunk
        else:
            self._body.clear()

    def answered(self, status: int, capture: Capture) -> None:
        """The upstream's answer begins."""
        self.status = status
        self._capture = capture

    def chunk(self, chunk: bytes) -> None:
        """The next bytes of the answer."""
        assert self._capture is not None
        if self._capture.feed(chunk) and self._first_token_s is None:
            self._first_token_s = time.perf_counter() - self._started_s

    @property
    def is_complete(self) -> bool:
        """Whether the answer says that all of it came, though the connection still stands."""
        return self._capture is not None and self._capture.is_complete

    def fail(self, kind: str, message: str) -> None:
        """What went wrong first; what follows from it is not noted."""
        if self.failure is None:
            self.failure = Failure(kind, message)

    def line(self) -> bytes:
        """The line, its end included."""
        took_s = time.perf_counter() - self._started_s
        captured = Captured() if self._capture is None else self._capture.result()
        self._judge(captured)
        body = recorded_body(bytes(self._body))
        secrets = self._secrets | body.secrets
        response = recorded_response(captured.response)
        session_id = body.session_id or self._session_id  # as vLLM has it: the body comes first
        if session_id and captured.response is not None and self.failure is None:
            self.answer = Answer(session_id, captured.response, body.has_tools)
        unrecorded = {"body": self._why_no_body(), "response": captured.unrecorded}
        line = Line(
            id=str(uuid.uuid4()),
            timestamp=round(self._timestamp_s, 6),
            end=round(self._timestamp_s + took_s, 6),
            status=self.status,
            path=self._path,
            time_to_first_token=None if self._first_token_s is None else round(self._first_token_s, 6),
            session_id=self._session_id or body.session_id,
            stream=self._capture is not None and self._capture.is_stream,
            error=self.failure,
            unrecorded={key: reason for key, reason in unrecorded.items() if reason is not None},
            usage=captured.usage,
            body=None if unrecorded["body"] else without_cut_secret(body.raw, secrets),
            response=None if response is None else without_cut_secret(response, secrets),
        )
        return encode_line(line, secrets)

    def _judge(self, captured: Captured) -> None:
        """Note what the answer itself says went wrong."""
        if self.status is not None and self.status >= 400:
            self.fail("status", f"HTTP {self.status}")
        elif captured.error is not None:
            self.fail("upstream-error", captured.error)

    def _why_no_body(self) -> str | None:
        if self._body_length > MAX_BODY_BYTES:
            return f"the request body is longer than {MAX_BODY_BYTES // 2**20} MiB"
        if self._body_encoding.strip().lower() not in (b"", b"identity"):
            return f"the request body has the content encoding {self._body_encoding.decode('latin-1')!r}"
        return None


class Tally(msgspec.Struct):
    """Counts of a recording."""

    requests: int = 0
    failed: int = 0
