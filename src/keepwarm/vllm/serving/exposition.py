"""The counts of CacheWise on the server's own ``/metrics``, beside those of ComputeCache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from keepwarm.vllm.serving.counters import (
    COUNTED,
    HINT_OUTCOMES,
    PREDICTION_OUTCOMES,
    REUSE_HISTOGRAMS,
    SCHEDULING_MODES,
    SERVING_FAULT_KINDS,
    UNPREDICTED_REASONS,
    read_serving_counters,
)

_STATES = ("known", "active", "paused")
_REUSE_TEXTS = {
    "predicted_seconds": "Time to reuse as it was predicted, of sessions that came back",
    "real_seconds": "Time to reuse as it was, of the same sessions",
    "ratio": "Real by predicted time to reuse, of the same sessions",
}


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
            yield from prediction_families(engines)


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


def prediction_families(engines: list[Mapping[str, int]]) -> Iterator[Any]:
    """Predicted against real time to reuse, counts by ``counters.NAMES`` of each engine."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    ended = CounterMetricFamily(
        "keepwarm_reuse_predictions",
        "Predictions of the time to reuse, by when the call was known and how they ended",
        labels=["known", "outcome"],
    )
    for known, outcomes in PREDICTION_OUTCOMES.items():
        for outcome in outcomes:
            ended.add_metric([known, outcome], _total(engines, f"{known}_{outcome}"))
    yield ended
    unpredicted = CounterMetricFamily(
        "keepwarm_reuse_unpredicted", "Sessions that came back and nothing was predicted", labels=["reason"]
    )
    for reason in UNPREDICTED_REASONS:
        unpredicted.add_metric([reason], _total(engines, f"unpredicted_{reason}"))
    yield unpredicted
    yield GaugeMetricFamily(
        "keepwarm_reuse_predictions_open",
        "Predictions of sessions that are idle now",
        value=_total(engines, "predictions_open"),
    )
    yield from (_reuse_histogram(engines, name, bounds) for name, bounds in REUSE_HISTOGRAMS.items())


def _reuse_histogram(engines: list[Mapping[str, int]], name: str, bounds: Sequence[float]) -> Any:
    from prometheus_client.core import HistogramMetricFamily

    untyped: Any = HistogramMetricFamily  # its constructor has no types
    family = untyped(f"keepwarm_reuse_{name}", _REUSE_TEXTS[name], labels=["known"])
    for known in PREDICTION_OUTCOMES:
        buckets, so_far = [], 0
        for index, bound in enumerate((*map(repr, bounds), "+Inf")):
            so_far += _total(engines, f"{known}_{name}_{index}")
            buckets.append((bound, so_far))
        family.add_metric([known], buckets, sum_value=_total(engines, f"{known}_{name}_millionths") / 1e6)
    return family


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
