"""Whether a server answers ``/health``, and waiting until it does."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx2

from keepwarm._errors import InputError
from keepwarm._urls import http_url

_ONE_TRY_S = 2.0
_POLL_S = 0.25


def checked_url(url: str) -> str:
    """``url`` without a slash or ``/v1`` at its end.

    Raises:
        InputError: it is no http address, or it holds a password, which messages would repeat.
    """
    parsed = http_url(url)
    if "@" in url:
        raise InputError("the base URL holds a user name or password; leave it out, and set VLLM_API_KEY")
    if parsed is None or parsed.port == 0:
        raise InputError(f"{url!r} is not the address of a server; write it like http://127.0.0.1:8000")
    return url.rstrip("/").removesuffix("/v1")


def is_healthy(base_url: str) -> bool:
    """Whether ``GET /health`` answers 200 within two seconds."""
    return _status(base_url) == 200


def is_up(base_url: str) -> bool:
    """Whether something of the server is left: it answers, if slowly, and no proxy says that it is gone."""
    status = _status(base_url)
    return status is None or 0 < status < 500


def wait_until_healthy(base_url: str, within_s: float, ended: Callable[[], str]) -> str:
    """Return when the server answers: why it never will, or nothing if it does.

    ``ended`` says, in words, that the server has ended; empty as long as it runs. It is asked before each
    try, so that a server that died is noticed at once and not after ``within_s`` seconds.
    """
    limit = time.monotonic() + within_s
    while True:
        reason = ended()
        if reason:
            return reason
        if is_healthy(base_url):
            return ""
        if time.monotonic() >= limit:
            return f"{base_url}/health did not answer within {within_s:g} s"
        time.sleep(_POLL_S)


def _status(base_url: str) -> int | None:
    """The HTTP status of ``/health``; 0 if nobody is there, None if the answer takes too long."""
    try:
        # A loopback server must not be asked through the user's proxy.
        with httpx2.Client(timeout=_ONE_TRY_S, trust_env=False) as client:
            return client.get(f"{base_url}/health").status_code
    except httpx2.ReadTimeout:
        return None
    except httpx2.HTTPError:
        return 0
