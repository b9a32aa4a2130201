from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from keepwarm.replay.measuring import ReplayOptions, Run, counting, replay_trace, starting
from tests.replay import traces
from tests.replay.fake_server import ReplayVllm

Replay = Callable[..., Run]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a counter or a reset."""
    monkeypatch.setattr(counting, "_PAUSE_S", 0)
    monkeypatch.setattr(starting, "_RESET_PAUSE_S", 0)


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    """``replay(fake, lines, "before", resume=..., **options)`` into the folder of that name."""

    def run(
        fake: ReplayVllm,
        lines: Sequence[dict[str, Any]] | None = None,
        label: str = "before",
        *,
        resume: bool = False,
        url: str = "http://127.0.0.1:8000",
        over: str = "mock",
        **options: Any,
    ) -> Run:
        trace = traces.write(tmp_path / f"{label}.jsonl", traces.broken() if lines is None else lines)
        transport = fake.transport if over == "mock" else None
        return replay_trace(
            trace,
            url,
            tmp_path / label,
            ReplayOptions(label=label, **options),
            resume=resume,
            transport=transport,
        )

    return run
