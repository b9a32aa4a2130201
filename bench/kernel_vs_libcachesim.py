"""Plain LRU over independent blocks: accesses per second against libCacheSim's C code, equal hit counts."""

from __future__ import annotations

import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.harness import Result, UnavailableError
from bench.traces import agent_sessions
from keepwarm.cache.kernels import run_independent_lru, run_kernel

TARGET = "≥ 4×"
ACCESSES = 5_000_000
CAPACITIES_BLOCKS = (2_048, 16_384, 131_072)
RUNS = 5
HASHPOWER = 17  # the hash table's initial size as a power of two
_RECORD = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])  # oracleGeneral


def run() -> Result:
    """The first accesses of the agent sessions at three capacities; the value is the least of three ratios.

    libCacheSim reads its own binary format from memory-mapped pages that are warm. The exact mode is timed
    on the same blocks for comparison: it does more, whole prefixes, reference counts and duplicates.
    """
    if importlib.util.find_spec("libcachesim") is None:
        raise UnavailableError("no libCacheSim in this environment")
    trace = agent_sessions()
    ids = trace.ids[:ACCESSES]
    detail: dict[str, object] = {"accesses": len(ids), "runs": RUNS}
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.oracleGeneral.bin"
        _write(path, ids)
        for capacity_blocks in CAPACITIES_BLOCKS:
            ours_s, theirs_s = _interleaved(path, ids, capacity_blocks)
            ratios.append(theirs_s / ours_s)
            detail[f"{capacity_blocks} blocks"] = (
                f"{len(ids) / ours_s / 1e6:.0f} M/s against {len(ids) / theirs_s / 1e6:.0f} M/s"
            )
    largest = int(np.diff(trace.starts).max())
    capacity_blocks = max(largest, CAPACITIES_BLOCKS[1])
    exact_s = _median_s(
        lambda: run_kernel(trace, policy="lru", capacity_blocks=capacity_blocks, ignore_output=True)
    )
    detail[f"exact mode, {capacity_blocks} blocks"] = f"{len(trace.ids) / exact_s / 1e6:.0f} M/s"
    return Result("kernel-vs-libcachesim", round(min(ratios), 1), "×", detail)


def _write(path: Path, ids: npt.NDArray[np.int32]) -> None:
    records = np.zeros(len(ids), dtype=_RECORD)
    records["time"] = np.arange(len(ids))
    records["id"] = ids.astype(np.uint64) + 1  # libCacheSim takes 0 for no object
    records["size"] = 1
    records["next"] = -1
    records.tofile(path)


def _interleaved(path: Path, ids: npt.NDArray[np.int32], capacity_blocks: int) -> tuple[float, float]:
    """Median seconds of both, run in turns; ``ValueError`` if they count other hits."""
    run_independent_lru(ids[:1000], capacity_blocks)  # compiled by now
    ours_s, theirs_s = [], []
    for _ in range(RUNS):
        started_s = time.process_time()
        hits = run_independent_lru(ids, capacity_blocks)
        ours_s.append(time.process_time() - started_s)
        seconds, their_hits = _libcachesim(path, len(ids), capacity_blocks)
        theirs_s.append(seconds)
        if hits != their_hits:
            raise ValueError(f"{hits} hits here, {their_hits} in libCacheSim at {capacity_blocks} blocks")
    return statistics.median(ours_s), statistics.median(theirs_s)


def _libcachesim(path: Path, accesses: int, capacity_blocks: int) -> tuple[float, int]:
    import libcachesim

    reader = libcachesim.TraceReader(str(path), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    cache = libcachesim.LRU(capacity_blocks, hashpower=HASHPOWER)
    started_s = time.process_time()
    miss_ratio, _ = cache.process_trace(reader)
    return time.process_time() - started_s, round((1 - miss_ratio) * accesses)


def _median_s(work: Callable[[], object]) -> float:
    work()
    times_s = []
    for _ in range(RUNS):
        started_s = time.process_time()
        work()
        times_s.append(time.process_time() - started_s)
    return statistics.median(times_s)
