"""Switched off, CacheWise changes nothing: vLLM decides as it does without keepwarm."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from keepwarm.serving.base import ServerConfig
from keepwarm.vllm.pool import attach
from keepwarm.vllm.serving.scheduler import KeepwarmScheduler
from keepwarm.vllm.serving.settings import EVICTION, SCHEDULING, pool_environ
from keepwarm.vllm.settings import read_settings
from tests.vllm.cachewise import CacheWiseServer
from tests.vllm.ordered import settings
from tests.vllm.real import RealServer
from tests.vllm.test_lru_differential import FIRST_SEED, Twins, compare

OFF = {EVICTION: "lru", SCHEDULING: "fcfs"}
STEPS = 10_000


class OffTwins(Twins):
    """Beside an untouched server one with our scheduler class and hooks, both settings off."""

    def __init__(self, config: ServerConfig) -> None:
        super().__init__(config)
        with settings(**OFF):
            self.hooked = RealServer(config, KeepwarmScheduler)
        attach(self.hooked.pool, read_settings(pool_environ(OFF)).settings, self.plugin)


class OnTwins(Twins):
    """The hooked one has CacheWise on."""

    def __init__(self, config: ServerConfig) -> None:
        super().__init__(config)
        self.hooked = CacheWiseServer(config, self.plugin)


def run(twins: type[Twins], patch: pytest.MonkeyPatch) -> Counter[str]:
    patch.setattr("tests.vllm.test_lru_differential.Twins", twins)
    return compare(FIRST_SEED, STEPS, patch)


def test_both_settings_off_are_stock(totals: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    counts = run(OffTwins, monkeypatch)
    totals.update(counts)
    assert counts["steps"] >= STEPS
    least = {"hit tokens": 5_000, "evictions": 500, "preemptions": 2, "aborts": 2}
    for event, few in least.items():
        assert counts[event] >= few, event


def test_cachewise_on_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison is worth something: switched on, it does decide otherwise."""
    with pytest.raises(pytest.fail.Exception, match="differ"):
        run(OnTwins, monkeypatch)


def test_off_is_what_is_asked_for() -> None:
    assert pool_environ(OFF)["COMPUTECACHE_MODE"] == "lru"
    unset: dict[str, Any] = {}
    assert pool_environ(unset) == {}
