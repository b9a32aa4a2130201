"""Whether a server answers ``/health``, and waiting until it does."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx2

_ONE_TRY_S = 2.0
_POLL_S = 0.25


def is_healthy(base_url: str) -> bool:
    """Whether ``GET /health`` answers 200 within two seconds."""
    try:
        # A loopback server must not be asked through the user's proxy.
        with httpx2.Client(timeout=_ONE_TRY_S, trust_env=False) as client:
            return client.get(f"{base_url}/health").status_code == 200
    except httpx2.HTTPError:
        return False


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
