"""What a recording is asked for, checked before anything is bound or written."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import httpx2

from keepwarm._errors import InputError
from keepwarm._hosts import is_loopback
from keepwarm._urls import http_url
from keepwarm.hints import HintClient
from keepwarm.replay.recorder.headers import is_credential

MAX_BODY_BYTES = 32 * 1024 * 1024
"""Of a request body; a longer one is forwarded as it arrives and not recorded."""

MAX_RESPONSE_BYTES = 64 * 1024 * 1024
"""Of a response as it is sent, events and all; a longer one is forwarded and not recorded."""

GRACE_S = 5
"""How long requests in flight may go on when the recording is ended."""

_API_FOLDER = b"/v1"


class Upstream(NamedTuple):
    """The server that answers: ``prefix`` goes before every path; ``shown`` is fit for people."""

    base: httpx2.URL
    prefix: bytes
    shown: str

    def url(self, raw_path: bytes, query: bytes) -> httpx2.URL:
        """Where a request for ``raw_path`` goes; raises httpx2.InvalidURL."""
        target = self.prefix + raw_path
        return self.base.copy_with(raw_path=target + b"?" + query if query else target)


class RecorderOptions(NamedTuple):
    """A recording: where requests go, where lines go, where clients connect (``port`` 0: any free one).

    ``hints`` tell the server what sessions do between their requests; whoever made it closes it.
    """

    upstream: Upstream
    out: Path
    host: str = "127.0.0.1"
    port: int = 8001
    session_header: str = "X-Session-ID"
    append: bool = False
    hints: HintClient | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback_host(self.host)


def is_loopback_host(host: str) -> bool:
    """Whether a browser on this machine means itself by ``host``: ``is_loopback``, and ``x.localhost``."""
    name = host.rstrip(".").lower()
    return name.endswith(".localhost") or is_loopback(name)


def upstream_of(url: str) -> Upstream:
    """The upstream of a URL, with or without its ``/v1``.

    Raises:
        InputError: not a plain http or https URL; one with credentials in it is not repeated.
    """
    if set("@?#") & set(url):
        raise InputError(
            "--upstream has credentials or a query in it; give the address alone, clients send their own key"
        )
    parsed = http_url(url)
    if parsed is None:
        raise InputError(f"--upstream {url!r} is not an http or https URL; write http://127.0.0.1:8000")
    prefix = parsed.raw_path.rstrip(b"/").removesuffix(_API_FOLDER).rstrip(b"/")
    shown = str(parsed.copy_with(raw_path=prefix or b"/")).rstrip("/")
    return Upstream(parsed.copy_with(raw_path=b"/"), prefix, shown)


def check_session_header(name: str) -> None:
    """Raises InputError: no header can have this name, or it carries credentials, which are never stored."""
    if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
        raise InputError(f"--session-header {name!r} is not the name of a header; write X-Session-ID")
    if is_credential(name.lower()):
        raise InputError(
            f"--session-header {name!r} carries credentials, which are never stored; name another header"
        )
