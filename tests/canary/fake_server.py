"""A server whose cache is the reference pool, started again with other settings; only vLLM is made up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import httpx2

from keepwarm.cache.pool import BlockPool
from keepwarm.canary.pressure import PressureOptions
from keepwarm.canary.runs import Instruments, instruments
from keepwarm.policies.base import VictimOrder
from keepwarm.policies.computecache import ComputeCache
from keepwarm.policies.computecache_window import ComputeCacheWindow
from keepwarm.policies.lru import Lru
from keepwarm.vllm.settings import Settings, read_settings
from tests.canary.fakes import FakeAdapter
from tests.canary.pressure.fake_vllm import FakeVllm


class PluggedVllm(FakeVllm):
    """With the policy of the settings, and what the plugin says of them."""

    def __init__(self, settings: Settings, **changes: Any) -> None:
        self.settings = settings
        super().__init__(mode=settings.mode, **changes)
        self.pool = BlockPool(self.capacity_blocks, policy_of(settings, self.capacity_blocks))
        self.answers["/version"] = lambda body: httpx2.Response(200, json={"version": "0.32.0"})

    def metric_lines(self) -> Iterator[str]:
        yield from super().metric_lines()
        yield f'computecache_effective_rule{{rule="{self.settings.rule}"}} 1.0'
        yield f"computecache_scan_limit {float(self.settings.scan_limit)}"


def policy_of(settings: Settings, capacity_blocks: int) -> VictimOrder:
    """The order that the plugin would keep."""
    if settings.mode == "lru":
        return Lru(capacity_blocks)
    if settings.rule == "window":
        return ComputeCacheWindow(capacity_blocks, scan_limit=settings.scan_limit)
    return ComputeCache(capacity_blocks, scan_limit=settings.scan_limit)


class PoolServer(FakeAdapter):
    """Each start makes a new vLLM; ``changes`` are its fields by mode."""

    def __init__(self, **changes: Mapping[str, Any]) -> None:
        super().__init__()
        self._changes = changes
        self.vllm: PluggedVllm | None = None

    def start(self, settings: Mapping[str, str]) -> None:
        super().start(settings)
        read = read_settings(settings)
        assert not read.warnings
        self.vllm = PluggedVllm(read.settings, **self._changes.get(read.settings.mode, {}))

    def stop(self) -> None:
        super().stop()
        self.vllm = None

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        if self.vllm is None:
            raise httpx2.ConnectError("nobody listens")
        return self.vllm.handle(request)

    def instruments(self, options: PressureOptions, **choices: Any) -> Instruments:
        """The real ones, on this network."""
        return instruments(options, transport=httpx2.MockTransport(self.handle), **choices)
