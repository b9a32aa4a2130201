"""The reader against what the plugin really writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from keepwarm._errors import ServerError
from keepwarm.canary.plugin_metrics import parse_plugin_metrics
from keepwarm.vllm.counters import Counters, shared_counters
from keepwarm.vllm.exposition import ComputeCacheCollector


def exposed(folder: Path) -> str:
    registry = CollectorRegistry()
    registry.register(ComputeCacheCollector(folder))
    return generate_latest(registry).decode()


def engine(folder: Path, **words: int) -> Counters:
    counters = shared_counters(folder)
    for name, value in words.items():
        counters.set(name, value)
    return counters


def test_every_figure_of_an_engine(tmp_path: Path) -> None:
    engine(
        tmp_path, mode=2, rule=1, scan_limit=4, decisions=40, reordered_decisions=30, demoted_blocks=20,
        scanned_blocks=80, fault_slow=2, tripped=1, evicted_never_hit=500, evicted_hit=7,
        evicted_then_requested_tokens=112,
    )  # fmt: skip
    metrics = parse_plugin_metrics(exposed(tmp_path), "here")
    assert (metrics.mode, metrics.rule, metrics.scan_limit) == ("active", "boundary", 4)
    assert (metrics.decisions, metrics.reordered_decisions) == (40, 30)
    assert (metrics.demoted_blocks, metrics.scanned_blocks) == (20, 80)
    assert (metrics.faults, metrics.tripped_engines) == ({"slow": 2}, 1)
    assert metrics.evicted_blocks == {"unhashed": 0, "never_hit": 500, "hit": 7}
    assert metrics.evicted_then_requested_tokens == 112


def test_engines_that_differ_are_in_no_one_mode(tmp_path: Path) -> None:
    engine(tmp_path, mode=1, rule=2, decisions=1)
    (file,) = tmp_path.iterdir()
    file.rename(tmp_path / "1.computecache")
    engine(tmp_path, mode=2, rule=2, decisions=2)
    metrics = parse_plugin_metrics(exposed(tmp_path), "here")
    assert (metrics.mode, metrics.rule, metrics.decisions) == ("mixed", "window", 3)


def test_no_plugin_is_said_with_the_next_step() -> None:
    with pytest.raises(ServerError, match="shows nothing of the plugin; install keepwarm"):
        parse_plugin_metrics('vllm:prefix_cache_hits_total{engine="0"} 1.0\n', "http://h/metrics")


def test_no_metrics_at_all() -> None:
    with pytest.raises(ServerError, match="not in Prometheus's text format"):
        parse_plugin_metrics("<html>{</html>", "http://h/metrics")
