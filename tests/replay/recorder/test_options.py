"""Where requests go."""

from __future__ import annotations

import pytest

from keepwarm.replay.recorder.options import is_loopback_host, upstream_of


@pytest.mark.parametrize(
    ("given", "asked", "shown"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1/models", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1/models", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1/models", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1/models", "http://127.0.0.1:8000"),
        (
            "https://router.example/api/v1",
            "https://router.example/api/v1/models",
            "https://router.example/api",
        ),
        ("http://[::1]:8000", "http://[::1]:8000/v1/models", "http://[::1]:8000"),
    ],
)
def test_with_or_without_its_v1(given: str, asked: str, shown: str) -> None:
    upstream = upstream_of(given)
    assert str(upstream.url(b"/v1/models", b"")) == asked
    assert str(upstream.url(b"/v1/models", b"a=%2F&b")) == f"{asked}?a=%2F&b"
    assert upstream.shown == shown


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [
        *((host, True) for host in ("127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST.")),
        *(
            (host, False)
            for host in ("0.0.0.0", "::", "", "localhost.example", "127.0.0.1.example", "10.0.0.1")
        ),
    ],
)
def test_what_is_this_machine(host: str, is_loopback: bool) -> None:
    assert is_loopback_host(host) == is_loopback
