"""The canary on the real server: what LRU loses, what the candidate keeps, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keepwarm.canary.options import CanaryOptions, TtftBudget, TuneOptions
from keepwarm.canary.pressure import PressureOptions
from keepwarm.canary.record import CanaryRecord, canary_document
from keepwarm.canary.run import run_canary
from keepwarm.canary.runs import Run, instruments
from keepwarm.canary.servers.local import LocalServer, cpu_options
from keepwarm.canary.tune import run_tuning

ANY_SPEED = 1000.0  # other tests and builds share these cores; `make canary` holds the budget
PRESSURE = PressureOptions(hot_tokens=800, flood_tokens=810, flood=(1, 2, 4, 8, 24))
LRU_TOKENS = (800, 800, 416, 0, 0)


def texts(run: Run) -> list[str | None]:
    """What the hot request generated after each step."""
    return [step.text for step in run.pressure.steps]


@pytest.fixture
def server(cpu_server: Callable[..., LocalServer], tiny_model_dir: Path, tmp_path: Path) -> Any:
    """A server of this test alone: the canary stops it. At most one runs at a time."""
    cpu_server.stop()  # type: ignore[attr-defined]
    return LocalServer(cpu_options(str(tiny_model_dir), arguments=("--load-format", "dummy")), tmp_path)


def test_canary_on_the_real_server(server: LocalServer) -> None:
    kept: list[CanaryRecord] = []
    options = CanaryOptions(pressure=PRESSURE, ttft_budget=ANY_SPEED)
    record = run_canary(server, options, instruments(PRESSURE), keep=kept.append, say=lambda line: None)
    assert record.accepted, record.reasons()
    assert kept == [record]
    assert record.baseline.hot_cached_tokens() == LRU_TOKENS
    assert record.candidate is not None
    assert record.candidate.hot_cached_tokens() == (800,) * 5
    assert record.candidate.plugin.reordered_decisions > 0
    assert record.drill.run is not None
    assert record.drill.run.hot_cached_tokens() == LRU_TOKENS
    assert texts(record.drill.run) == texts(record.baseline) == texts(record.candidate)
    document = canary_document(record)
    assert document["model"]["name"] == "tiny"
    assert document["versions"]["vllm"] == "0.32.0"
    assert server.pid is None


@pytest.mark.long
def test_tuning_on_the_real_server(server: LocalServer) -> None:
    """The window of any published size loses the prefix; the boundary keeps it with all of them."""
    options = TuneOptions(
        pressure=PRESSURE, p95_ttft_budget=TtftBudget(value=ANY_SPEED, unit="ratio"), scan_limits=(16, 32, 64)
    )
    record = run_tuning(
        server, options, instruments(PRESSURE), keep=lambda record: None, say=lambda line: None
    )
    assert [(choice.rule, choice.scan_limit) for choice in record.choices] == [
        ("boundary", 16),
        ("window", None),
    ]
    assert record.drill.passed, record.drill.reasons()
    assert server.pid is None
