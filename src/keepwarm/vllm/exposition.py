"""The counters of all engines of this server on its own ``/metrics``.

``prometheus_client`` is vLLM's own dependency. A single API server shows its default registry, and a
collector of ours is in it. With ``PROMETHEUS_MULTIPROC_DIR`` a new registry of files is made for each scrape:
there ours joins ``MultiProcessCollector``, which every such registry has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from keepwarm.vllm.counters import (
    BOUNDS_NS,
    EVICTION_CLASSES,
    FAULT_KINDS,
    MODES,
    RULES,
    Snapshot,
    read_snapshots,
)

COUNTERS = {
    "decisions": "Allocations before which the policy could move blocks",
    "reordered_decisions": "Allocations that took a block although one freed earlier stayed",
    "demoted_blocks": "Blocks that the policy moved towards the head of the free list",
    "scanned_blocks": "Free blocks whose keep value was read",
    "evicted_then_requested_tokens": "Tokens computed again that had been cached and were evicted",
}


TRIPPED = "Engines whose policy was put away after too many faults"
# By the name of what is counted: the metric's name, and its text.
EVICTION_COUNTERS = {
    "decisions": ("decisions", COUNTERS["decisions"]),
    "reordered_decisions": ("reordered_decisions", COUNTERS["reordered_decisions"]),
    "demoted_blocks": ("moved_blocks", "Blocks brought to the head of the free list, as victims"),
    "evicted_then_requested_tokens": (
        "evicted_then_requested_tokens",
        COUNTERS["evicted_then_requested_tokens"],
    ),
}
EVICTION_ORDERS = {"cachewise": "active", "lru": "lru"}  # by the mode in which it is in effect


class ComputeCacheCollector:
    """Sums over the engines that write to ``directory``; empty until one has made its pool.

    Engines of ComputeCache and of CacheWise's eviction have families of their own.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def describe(self) -> list[Any]:
        """Nothing: the names are not checked for collisions when the collector is registered."""
        return []

    def collect(self) -> Iterator[Any]:
        """Metric families; called once per scrape."""
        engines = [engine for engine in read_snapshots(self._directory) if engine.mode]
        ours = [engine for engine in engines if not engine.is_by_session]
        by_session = [engine for engine in engines if engine.is_by_session]
        if ours:
            yield from _counters(
                "computecache", {name: (name, text) for name, text in COUNTERS.items()}, ours
            )
            yield from _gauges(ours)
            yield _decision_times("computecache", ours)
        if by_session:
            yield from _counters("keepwarm_eviction", EVICTION_COUNTERS, by_session)
            yield from _eviction_gauges(by_session)
            yield _decision_times("keepwarm_eviction", by_session)


def _total(engines: list[Snapshot], name: str) -> int:
    return sum(engine.values[name] for engine in engines)


def _counters(prefix: str, counters: Mapping[str, tuple[str, str]], engines: list[Snapshot]) -> Iterator[Any]:
    from prometheus_client.core import CounterMetricFamily

    for counted, (name, text) in counters.items():
        yield CounterMetricFamily(f"{prefix}_{name}", text, value=_total(engines, counted))
    faults = CounterMetricFamily(
        f"{prefix}_faults", "Faults caught inside a hook; vLLM's own order was kept", labels=["kind"]
    )
    for kind in FAULT_KINDS:
        faults.add_metric([kind], _total(engines, f"fault_{kind}"))
    yield faults
    evicted = CounterMetricFamily(
        f"{prefix}_evicted_blocks",
        "Blocks taken from the free list, by what they held: nothing, content never hit, content hit",
        labels=["class"],
    )
    for name in EVICTION_CLASSES:
        evicted.add_metric([name], _total(engines, f"evicted_{name}"))
    yield evicted


def _gauges(engines: list[Snapshot]) -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    modes = GaugeMetricFamily("computecache_effective_mode", "Engines in this mode", labels=["mode"])
    for mode in MODES:
        modes.add_metric([mode], sum(engine.mode == mode for engine in engines))
    yield modes
    rules = GaugeMetricFamily("computecache_effective_rule", "Engines with this rule", labels=["rule"])
    for rule in RULES:
        rules.add_metric([rule], sum(engine.rule == rule for engine in engines))
    yield rules
    scan_limit = max(engine.values["scan_limit"] for engine in engines)
    for name, text, value in (
        ("tripped", TRIPPED, _total(engines, "tripped")),
        ("scan_limit", "Keep values compared for one demotion, or in the window", scan_limit),
        ("protected_blocks", "Free blocks behind the boundary", _total(engines, "protected_blocks")),
    ):
        yield GaugeMetricFamily(f"computecache_{name}", text, value=value)


def _eviction_gauges(engines: list[Snapshot]) -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    orders = GaugeMetricFamily("keepwarm_eviction_effective", "Engines with this order", labels=["eviction"])
    for eviction, mode in EVICTION_ORDERS.items():
        orders.add_metric([eviction], sum(engine.mode == mode for engine in engines))
    yield orders
    yield GaugeMetricFamily("keepwarm_eviction_tripped", TRIPPED, value=_total(engines, "tripped"))


def _decision_times(prefix: str, engines: list[Snapshot]) -> Any:
    from prometheus_client.core import HistogramMetricFamily

    family: Any = HistogramMetricFamily  # its constructor has no types

    buckets, so_far = [], 0
    for bound in (*BOUNDS_NS, "any"):
        so_far += _total(engines, f"decisions_up_to_{bound}_ns")
        buckets.append(("+Inf" if bound == "any" else repr(int(bound) / 1e9), so_far))
    return family(
        f"{prefix}_decision_seconds",
        "Time of one decision for which blocks had to be looked at",
        buckets=buckets,
        sum_value=_total(engines, "decision_time_ns") / 1e9,
    )


def expose(directory: Path) -> None:
    """Let ``/metrics`` of this process show the engines of ``directory``. Mutates ``prometheus_client``."""
    from prometheus_client import REGISTRY, multiprocess

    ours = ComputeCacheCollector(directory)
    REGISTRY.register(ours)
    of_files: Any = multiprocess.MultiProcessCollector  # has no types
    stock_collect = of_files.collect

    def collect(self: Any) -> Iterator[Any]:
        yield from stock_collect(self)
        yield from ours.collect()

    of_files.collect = collect
