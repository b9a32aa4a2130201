"""The requests that a test records, in the order in which they were made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from keepwarm._errors import InputError

_SESSION_HEADER = "x-session-id"  # as for ``keepwarm record``
_PATHS = ("/chat/completions", "/completions", "/responses")


class SentRequest(Protocol):
    """What is read of a request of ``httpx``, or of a client that has the same names for things."""

    method: str
    url: Any
    headers: Any

    def read(self) -> bytes:
        """The body, also of a request that streams it."""

    async def aread(self) -> bytes:
        """The body of a request that streams it asynchronously."""


class RecordedRequests:
    """Collects requests: bodies as dictionaries, a file of ``keepwarm record``, or an HTTP client's own.

    Requests of several conversations at once belong into a ``session`` each; between sessions their order
    does not matter then.
    """

    def __init__(self) -> None:
        self._records: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self._records)

    def record(self, body: Mapping[str, Any], *, session: str = "") -> None:
        """One request body as it is sent; it may be changed afterwards. Raises InputError: not JSON."""
        try:
            copied = json.loads(json.dumps(body, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(
                f"request {len(self) + 1} cannot be sent as JSON: {error}; record the body as it is sent"
            ) from error
        self._records.append({"session_id": session, "body": copied} if session else {"body": copied})

    def read(self, path: str | Path) -> None:
        """The requests of a file of ``keepwarm record``, or one like it. Raises InputError."""
        try:
            lines = Path(path).read_bytes().splitlines()
            records = [json.loads(line) for line in lines if line.strip()]
        except OSError as error:
            raise InputError(
                f"cannot read {str(path)!r}: {error.strerror or error}; name a file of keepwarm record"
            ) from error
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{str(path)!r} is not one JSON object per line: {error}; name a file of keepwarm record"
            ) from error
        if not all(isinstance(record, dict) for record in records):
            raise InputError(f"{str(path)!r} is not one JSON object per line; name a file of keepwarm record")
        self._records += records

    def hook(self, request: SentRequest) -> None:
        """A request hook for an HTTP client: ``httpx2.Client(event_hooks={"request": [requests.hook]})``.

        Requests to chat, completions and responses are recorded, others pass. Raises InputError: no JSON.
        """
        if _is_recorded(request):
            self._record_sent(request, request.read())

    async def async_hook(self, request: SentRequest) -> None:
        """The same for ``httpx2.AsyncClient``."""
        if _is_recorded(request):
            self._record_sent(request, await request.aread())

    def _record_sent(self, request: SentRequest, content: bytes) -> None:
        try:
            body = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"request {len(self) + 1} has a body that is no JSON: {error}; send it as JSON"
            ) from error
        self.record(body, session=request.headers.get(_SESSION_HEADER, ""))

    def lines(self) -> bytes:
        """One JSON line per request, by session, for a diagnosis."""
        ordered = sorted(self._records, key=lambda record: str(record.get("session_id") or ""))
        numbered = [{**record, "id": f"request-{number}"} for number, record in enumerate(ordered, 1)]
        return b"".join(json.dumps(record).encode() + b"\n" for record in numbered)


def _is_recorded(request: SentRequest) -> bool:
    return request.method == "POST" and str(request.url).partition("?")[0].endswith(_PATHS)
