"""The shared words, and what a scrape makes of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from keepwarm.vllm.counters import (
    BOUNDS_NS,
    SUFFIX,
    Counters,
    private_counters,
    read_snapshots,
    shared_counters,
)
from keepwarm.vllm.exposition import ComputeCacheCollector
from keepwarm.vllm.faults import Faults, PinnedError
from keepwarm.vllm.requested import EvictedHashes


def engine(directory: Path, monkeypatch: pytest.MonkeyPatch, pid: int) -> Counters:
    monkeypatch.setattr(os, "getpid", lambda: pid)
    counters = shared_counters(directory)
    counters.set("mode", 2)
    counters.set("rule", 1)
    counters.set("scan_limit", 4)
    return counters


def exposed(directory: Path) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(ComputeCacheCollector(directory))
    lines = generate_latest(registry).decode().splitlines()
    samples = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in samples}


def test_engines_are_summed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (engine(tmp_path, monkeypatch, pid) for pid in (11, 12))
    one.add("evicted_hit", 3)
    two.add("evicted_hit", 4)
    two.add("fault_slow")
    two.set("mode", 1)
    found = exposed(tmp_path)
    assert found['computecache_evicted_blocks_total{class="hit"}'] == 7
    assert found['computecache_faults_total{kind="slow"}'] == 1
    assert found['computecache_effective_mode{mode="active"}'] == 1
    assert found['computecache_effective_mode{mode="lru"}'] == 1
    assert found["computecache_scan_limit"] == 4


def test_nothing_is_shown_before_an_engine_has_a_pool(tmp_path: Path) -> None:
    assert exposed(tmp_path) == {}
    shared_counters(tmp_path)
    assert exposed(tmp_path) == {}


def test_the_histogram_is_cumulative_and_its_bounds_are_inclusive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counters = engine(tmp_path, monkeypatch, 11)
    for time_ns in (1, BOUNDS_NS[0], BOUNDS_NS[0] + 1, BOUNDS_NS[-1] + 1):
        counters.times_ns.append(time_ns)
    counters.publish()
    found = exposed(tmp_path)
    assert found['computecache_decision_seconds_bucket{le="1e-06"}'] == 2
    assert found['computecache_decision_seconds_bucket{le="2e-06"}'] == 3
    assert found['computecache_decision_seconds_bucket{le="0.02"}'] == 3
    assert found['computecache_decision_seconds_bucket{le="+Inf"}'] == 4
    assert found["computecache_decision_seconds_count"] == 4
    assert found["computecache_decision_seconds_sum"] == pytest.approx(0.020002002)


def test_files_of_others_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine(tmp_path, monkeypatch, 11)
    size = next(tmp_path.iterdir()).stat().st_size
    (tmp_path / f"12{SUFFIX}").write_bytes(b"short")
    (tmp_path / f"13{SUFFIX}").write_bytes(bytes(size))  # another layout
    (tmp_path / f"14{SUFFIX}").symlink_to(tmp_path / "gone")
    assert len(list(read_snapshots(tmp_path))) == 1


def test_words_wrap_and_never_go_below_zero() -> None:
    counters = private_counters()
    counters.set("decisions", -1)
    assert counters.get("decisions") == 0
    counters.set("decisions", (1 << 64) - 1)
    counters.add("decisions", 2)
    assert counters.get("decisions") == 1


def test_faults_are_counted_logged_once_for_each_kind_and_trip_once(caplog: pytest.LogCaptureFixture) -> None:
    counters, tripped = private_counters(), []
    faults = Faults(counters, 3, lambda: tripped.append(len(caplog.records)))
    faults.note("hit", ValueError("first"))
    faults.note("hit", ValueError("second"))
    assert not tripped
    for _ in range(4):
        faults.note("allocate", PinnedError("block 7"))
    assert tripped == [2]
    assert counters.get("fault_hit") == 2
    assert counters.get("fault_pinned") == 4
    assert ["first" in caplog.text, "second" in caplog.text] == [True, False]


def test_a_fault_while_tripping_goes_no_further() -> None:
    def trip() -> None:
        raise RuntimeError("injected")

    Faults(private_counters(), 1, trip).note("no such kind", "text")


def test_the_last_evicted_hashes_are_known_and_memory_is_bounded() -> None:
    lost = EvictedHashes(8)
    for block_hash in range(100):
        lost.recent[block_hash] = None
        if len(lost.recent) >= lost.half:
            lost.turn()
        assert len(lost.recent) + len(lost.older) <= 8
    kept = lost.recent | lost.older
    assert kept.keys() >= set(range(96, 100))
    lost.discard(99)
    lost.discard(50)
    assert kept.keys() - (lost.recent | lost.older) == {99}
