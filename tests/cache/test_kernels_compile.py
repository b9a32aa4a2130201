"""Compiled code is found again by the next process, and never when its sources have changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from keepwarm.cache.kernels import compile as kernel_compile
from keepwarm.cache.kernels import independent, lru, run_independent_lru
from keepwarm.cache.kernels.frame import replay_requests
from keepwarm.cache.kernels.operations import PolicyKernel

RUN = """
import numpy as np
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.kernels import run_kernel
from keepwarm.cache.kernels.compile import _replays
one = np.array([3])
for starts in (np.array([0, 1]), np.array([0, 1], dtype=np.int32)):  # any array type is taken
    trace = DenseTrace(2, 1, starts, np.array([0], dtype=np.int32), one, one, one < 0, one * 0.0, -one)
    run_kernel(trace, policy="lru", capacity_blocks=5)
(replay,) = _replays.values()
print(sum(replay.stats.cache_hits.values()), len(replay.signatures))
"""


def test_the_next_process_finds_the_compiled_code(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    outputs = [
        subprocess.run(
            [sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert outputs == ["0 1\n", "1 1\n"]


def test_without_a_folder_to_write_to_each_process_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    replay = kernel_compile.jit_on_disk(lambda number: number + 1)
    assert replay(1) == 2
    assert not replay.stats.cache_path


def digest_of(kernel: PolicyKernel, **constants: object) -> str:
    twin = kernel_compile.compiled(replay_requests, {**constants, **kernel.operations()}, "test")
    return twin.py_func.__qualname__.removeprefix("replay_requests_test_")


def test_code_is_filed_by_all_it_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    first = digest_of(lru.KERNEL, CHECKED=False)
    assert digest_of(lru.KERNEL, CHECKED=False) == first
    assert digest_of(lru.KERNEL, CHECKED=True) != first
    monkeypatch.setitem(lru.on_free.__globals__, "append_table", independent.independent_lru)
    assert digest_of(lru.KERNEL, CHECKED=False) != first


def test_independent_blocks_are_compiled_once() -> None:
    for dtype in (np.int32, np.int64):
        assert run_independent_lru(np.array([0, 1, 0, 2, 1], dtype=dtype), 2) == 1
