"""What ``base.py`` promises, held by every adapter."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from keepwarm._errors import ServerError
from keepwarm.canary.servers.base import ServerAdapter
from tests.canary.servers.conftest import is_running, printed

LRU = {"COMPUTECACHE_MODE": "lru"}


def _answers(adapter: ServerAdapter) -> bool:
    try:
        return httpx2.get(f"{adapter.base_url}/health", trust_env=False).status_code == 200
    except httpx2.ConnectError:
        return False


def test_start_returns_when_the_server_answers(adapter: ServerAdapter) -> None:
    adapter.start(LRU)
    assert _answers(adapter)
    assert is_running(printed(adapter).pid)


def test_settings_are_the_given_ones_and_no_others(
    adapter: ServerAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPUTECACHE_SCAN_LIMIT", "7")  # of the caller's shell
    adapter.start({"COMPUTECACHE_MODE": "active", "COMPUTECACHE_RULE": "a $word {and} more"})
    assert printed(adapter).settings == {
        "COMPUTECACHE_MODE": "active",
        "COMPUTECACHE_RULE": "a $word {and} more",
    }


def test_start_again_is_a_restart_with_the_new_settings(adapter: ServerAdapter) -> None:
    adapter.start({"COMPUTECACHE_MODE": "active", "COMPUTECACHE_SCAN_LIMIT": "16"})
    before, base_url = printed(adapter), adapter.base_url
    adapter.start(LRU)
    after = printed(adapter)
    assert not is_running(before.pid)
    assert not is_running(before.engine)
    assert after.settings == LRU
    assert adapter.base_url == base_url
    assert _answers(adapter)


def test_stop_leaves_no_process_and_may_be_called_at_any_time(adapter: ServerAdapter) -> None:
    adapter.stop()
    adapter.start(LRU)
    server = printed(adapter)
    adapter.stop()
    adapter.stop()
    assert not is_running(server.pid)
    assert not is_running(server.engine)


def test_an_exception_in_between_stops_the_server(adapter: ServerAdapter) -> None:
    adapter.start(LRU)
    server = printed(adapter)
    with pytest.raises(ZeroDivisionError), adapter:
        raise ZeroDivisionError
    assert not is_running(server.pid)
    assert not is_running(server.engine)


def test_a_server_that_dies_is_an_error_with_the_end_of_its_log(
    adapter: ServerAdapter, behave: Callable[[str], Any]
) -> None:
    behave("dies")
    with pytest.raises(ServerError, match="no memory left"):
        adapter.start(LRU)
    behave("")
    adapter.start(LRU)  # it is not broken by that
    assert _answers(adapter)


def test_secrets_are_in_no_message(
    adapter: ServerAdapter, behave: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "a-key-of-mine-0815")
    adapter.start(LRU)
    assert "api key [secret]" in adapter.log_tail()
    behave("dies")
    with pytest.raises(ServerError) as caught:
        adapter.start(LRU)
    assert "api key [secret]" in str(caught.value)
    assert "a-key-of-mine-0815" not in str(caught.value)


def test_an_interrupted_start_leaves_no_server(
    adapter: ServerAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = type(adapter).__module__
    seen = []

    def interrupt(*_: object, **__: object) -> str:
        while "{" not in adapter.log_tail():  # until the fake server has its engine
            time.sleep(0.02)
        seen.append(printed(adapter))
        raise KeyboardInterrupt

    monkeypatch.setattr(f"{module}.wait_until_healthy", interrupt)
    with pytest.raises(KeyboardInterrupt):
        adapter.start(LRU)
    assert not is_running(seen[0].pid)
    assert not is_running(seen[0].engine)
