"""Addresses of servers as people type them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx2


def http_url(text: str) -> httpx2.URL | None:
    """``text`` as an http or https URL whose host can be looked up; None if it is none."""
    import httpx2

    text = text.strip()
    try:
        url = httpx2.URL(text)
        _ = urlsplit(text).port  # stricter about brackets and ports
        url.host.encode("idna")  # as the socket library will: a label may be empty or too long
    except (httpx2.InvalidURL, ValueError):
        return None
    is_plain = url.scheme in ("http", "https") and url.host and " " not in text
    return url if is_plain else None
