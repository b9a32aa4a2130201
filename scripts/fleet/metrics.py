"""What servers and router count, read from their pages of metrics."""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable

import httpx2

# All is plain HTTP on loopback, and to read the certificates takes 25 ms of CPU for each client.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_SAMPLE = re.compile(r"^([\w:]+)(?:\{([^}]*)\})? (\S+)$", re.MULTILINE)


class Metrics:
    """One reading of a page."""

    def __init__(self, text: str) -> None:
        self._samples = [(name, labels, float(value)) for name, labels, value in _SAMPLE.findall(text)]

    def total(self, name: str, **labels: str) -> float:
        """The sum of the samples with these labels whose name matches ``name``; 0 if there are none."""
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        return sum(
            value
            for found, written, value in self._samples
            if re.fullmatch(name, found) and all(pair in written.split(",") for pair in wanted)
        )


def read(url: str) -> Metrics:
    """The page at ``url``. Raises httpx2.HTTPError."""
    answer = httpx2.get(url, timeout=30, verify=NO_TLS, trust_env=False)
    answer.raise_for_status()
    return Metrics(answer.text)


def wait_until(is_so: Callable[[], bool], what: str, within_s: float = 120.0) -> float:
    """Seconds until ``is_so``; errors of HTTP count as no. Raises TimeoutError, which says ``what``."""
    started_s = time.monotonic()
    while True:
        try:
            if is_so():
                return time.monotonic() - started_s
        except httpx2.HTTPError:
            pass
        if time.monotonic() - started_s > within_s:
            raise TimeoutError(f"not within {within_s:g} s: {what}")
        time.sleep(0.1)
