"""The counts of CacheWise on the server's own ``/metrics``, beside those of ComputeCache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from keepwarm.vllm.serving.counters import (
    COUNTED,
    HINT_OUTCOMES,
    SCHEDULING_MODES,
    SERVING_FAULT_KINDS,
    read_serving_counters,
)

_STATES = ("known", "active", "paused")


class CacheWiseCollector:
    """Sums over the engines that write to ``directory``; empty until one has made its scheduler."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def describe(self) -> list[Any]:
        """Nothing: the names are not checked for collisions when the collector is registered."""
        return []

    def collect(self) -> Iterator[Any]:
        """Metric families; called once per scrape."""
        engines = [engine for engine in read_serving_counters(self._directory) if engine["scheduling"]]
        if engines:
            yield from _counters(engines)
            yield from _gauges(engines)


def _total(engines: list[Mapping[str, int]], name: str) -> int:
    return sum(engine[name] for engine in engines)


def _counters(engines: list[Mapping[str, int]]) -> Iterator[Any]:
    from prometheus_client.core import CounterMetricFamily

    for name, text in COUNTED.items():
        yield CounterMetricFamily(f"keepwarm_{name}", text, value=_total(engines, name))
    faults = CounterMetricFamily(
        "keepwarm_faults", "Faults caught inside CacheWise; vLLM's own order was kept", labels=["kind"]
    )
    for kind in SERVING_FAULT_KINDS:
        faults.add_metric([kind], _total(engines, f"fault_{kind}"))
    yield faults
    hints = CounterMetricFamily(
        "keepwarm_hints", "Hints on sessions, by what became of them", labels=["outcome"]
    )
    for outcome in HINT_OUTCOMES:
        hints.add_metric([outcome], _total(engines, f"hints_{outcome}"))
    yield hints


def _gauges(engines: list[Mapping[str, int]]) -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    modes = GaugeMetricFamily("keepwarm_scheduling", "Engines with this queue order", labels=["mode"])
    for index, mode in enumerate(SCHEDULING_MODES, 1):
        modes.add_metric([mode], sum(engine["scheduling"] == index for engine in engines))
    yield modes
    sessions = GaugeMetricFamily("keepwarm_sessions", "Sessions, by what they do", labels=["state"])
    for state in _STATES:
        sessions.add_metric([state], _total(engines, f"sessions_{state}"))
    yield sessions
    yield GaugeMetricFamily(
        "keepwarm_put_away",
        "Engines whose order was put away after too many faults",
        value=_total(engines, "put_away"),
    )
    yield GaugeMetricFamily(
        "keepwarm_prefill_seconds_per_token",
        "Time that computing one prompt token takes lately, the slowest engine's",
        value=max(engine["prefill_ps"] for engine in engines) / 1e12,
    )


def expose_serving(directory: Path) -> None:
    """Let ``/metrics`` of this process show the engines of ``directory``. Mutates ``prometheus_client``."""
    from prometheus_client import REGISTRY, multiprocess

    ours = CacheWiseCollector(directory)
    REGISTRY.register(ours)
    of_files: Any = multiprocess.MultiProcessCollector  # has no types
    stock_collect = of_files.collect

    def collect(self: Any) -> Iterator[Any]:
        yield from stock_collect(self)
        yield from ours.collect()

    of_files.collect = collect
