"""A server whose cache is the reference pool, started again with other settings; only vLLM is made up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2

from keepwarm.canary.pressure import PressureOptions
from keepwarm.canary.runs import Instruments, instruments
from tests.canary.fakes import FakeAdapter
from tests.canary.pressure.fake_vllm import FakeVllm


class PoolServer(FakeAdapter):
    """Each start makes a new ``FakeVllm`` in the mode of the settings; ``changes`` are its fields by mode."""

    def __init__(self, **changes: Mapping[str, Any]) -> None:
        super().__init__()
        self._changes = changes
        self.vllm: FakeVllm | None = None

    def start(self, settings: Mapping[str, str]) -> None:
        super().start(settings)
        mode = settings["COMPUTECACHE_MODE"]
        self.vllm = FakeVllm(mode=mode, **self._changes.get(mode, {}))
        self.vllm.answers["/version"] = lambda body: httpx2.Response(200, json={"version": "0.32.0"})

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
