from __future__ import annotations

from pathlib import Path

import pytest

from keepwarm.replay.comparing import compare_runs
from keepwarm.replay.comparing.files import keep_comparison
from keepwarm.replay.measuring import ReplayOptions, replay_trace
from tests.replay import traces
from tests.replay.fake_server import ReplayVllm


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the evidence of two runs and of their comparison; to be read, not changed."""
    folder = tmp_path_factory.mktemp("evidence")
    for label, lines in (("before", traces.broken(9)), ("after", traces.repaired(9))):
        trace = traces.write(folder / f"{label}.jsonl", lines)
        replay_trace(
            trace,
            "http://127.0.0.1:8000",
            folder / label,
            ReplayOptions(label=label, keep_text=True),
            transport=ReplayVllm().transport,
        )
    keep_comparison(folder / "comparison", compare_runs(folder / "before", folder / "after"))
    return folder
