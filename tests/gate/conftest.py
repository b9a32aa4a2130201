from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from keepwarm.diagnose.options import Options
from keepwarm.gate import Verdict, check_trace, fresh_baseline
from keepwarm.gate.baseline import Baseline, write_baseline

Compare = Callable[..., Verdict]


def keep(trace: str, path: Path, options: Options | None = None) -> Baseline:
    """Write the baseline of a trace, as the command does."""
    fresh = fresh_baseline(trace, options or Options(), path)
    write_baseline(path, fresh.baseline)
    return fresh.baseline


@pytest.fixture
def compare(tmp_path: Path) -> Compare:
    """Compares one trace with the baseline of another: ``compare(then, now)``."""

    def run(then: str, now: str, max_drop_points: float = 1.0) -> Verdict:
        path = tmp_path / "baseline.json"
        keep(then, path)
        return check_trace(now, Options(), path, max_drop_points=max_drop_points)

    return run
