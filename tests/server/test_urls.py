from __future__ import annotations

from collections.abc import Callable

import pytest

from keepwarm._errors import InputError
from keepwarm._urls import http_url
from keepwarm.canary.servers.health import checked_url
from keepwarm.replay.recorder.options import upstream_of
from keepwarm.server.client import VllmClient
from keepwarm.trace.tokens.server import ServerTokenizer

NONE = (
    *("", "x", "http://", "http://:1", "http://a b", "ftp://x", "http://[::1", "//x", "http:///v1"),
    *("http://h:99999", "http://h:-1", "http://h:x", "http://..", "http://a\nb", f"http://{'a' * 300}"),
    "http://\udcff",
)
READERS: dict[str, Callable[[str], object]] = {
    "client": lambda url: VllmClient(url, api_key=None, transport=None, timeout_s=1),
    "canary": checked_url,
    "recorder": upstream_of,
    "tokenizer": ServerTokenizer,
}


@pytest.mark.parametrize("url", NONE)
def test_what_is_no_address_of_a_server(url: str) -> None:
    assert http_url(url) is None


@pytest.mark.parametrize("reader", READERS)
def test_nobody_takes_it_for_one(reader: str) -> None:
    for url in NONE:
        with pytest.raises(InputError, match="write "):
            READERS[reader](url)


@pytest.mark.parametrize(
    "url", ["http://localhost:8000", "https://h", "http://[::1]:1", "http://bücher.example"]
)
def test_what_is_one(url: str) -> None:
    assert http_url(f" {url} ") is not None
