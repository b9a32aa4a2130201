"""The two functions that a patched vLLM calls, in the module that is made for it."""

from __future__ import annotations

import logging
import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepwarm.vllm.source.policy_module import policy_module
from keepwarm.vllm.source.safety_fakes import Pool, Queue

DIRECTORY = "COMPUTECACHE_COUNTERS_DIR"


@pytest.fixture
def policy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module as the first process of a server loads it; ``exposed`` are the calls of ``expose``."""
    for name in [name for name in os.environ if name.startswith("COMPUTECACHE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv(DIRECTORY, "")  # put back in the end, whatever the module sets
    monkeypatch.delenv(DIRECTORY)
    module: Any = types.ModuleType("patched_computecache")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(policy_module(), module.__name__, "exec"), vars(module))
    module.exposed = []
    module.expose = module.exposed.append
    yield module
    if DIRECTORY in os.environ:
        module._remove(os.environ[DIRECTORY], os.getpid())


def new_kind() -> type[Pool]:
    """A class of pools of its own, since it may be hooked."""
    return type("BlockPool", (Pool,), {})


def test_inert_unless_asked(policy: Any) -> None:
    kind = new_kind()
    policy.expose_if_asked()
    assert policy.hook_if_asked(kind) is kind
    assert type(kind()) is kind
    assert policy.exposed == []
    assert DIRECTORY not in os.environ


def test_a_server_starts(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPUTECACHE_MODE", "active")
    policy.expose_if_asked()
    directory = Path(os.environ[DIRECTORY])
    assert policy.exposed == [directory]
    kind = policy.hook_if_asked(new_kind())
    first, second = kind(), kind()
    assert policy.exposed == [directory]
    for pool in (first, second):
        assert isinstance(pool, Pool)
        assert type(pool.free_block_queue) is not Queue
    (snapshot,) = policy.read_snapshots(directory)
    assert (snapshot.mode, snapshot.rule) == ("active", "boundary")


def test_a_wrong_setting_is_named_once_for_a_server(
    policy: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("COMPUTECACHE_MODE", "fastest")
    with caplog.at_level(logging.WARNING, "vllm.computecache"):
        policy.expose_if_asked()
        policy._started.cache_clear()  # as in another process, which inherits the directory
        pool = policy.hook_if_asked(new_kind())()
    assert len(caplog.records) == 1
    assert "COMPUTECACHE_MODE='fastest'" in caplog.text
    assert type(pool.free_block_queue) is Queue


def test_a_server_starts_whatever_happens(
    policy: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("COMPUTECACHE_MODE", "active")

    def fail(_: object) -> None:
        raise RuntimeError("injected")

    policy.expose = fail
    with caplog.at_level(logging.WARNING, "vllm.computecache"):
        policy.expose_if_asked()
        kind = policy.hook_if_asked(new_kind())
    assert type(kind()) is kind
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
