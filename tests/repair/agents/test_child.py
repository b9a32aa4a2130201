"""A child by itself."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from keepwarm.repair.agents.child import Child


def test_a_child_whose_start_is_interrupted_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The number of its process got lost; its mark tells which it is."""
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def interrupted(*arguments: Any, **options: Any) -> None:
        started.append(start(*arguments, **options))
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    stdin = tmp_path / "stdin"
    stdin.write_bytes(b"")
    child = Child(["sleep", "1000"], folder=tmp_path, environment=dict(os.environ), stdin=stdin)
    with pytest.raises(KeyboardInterrupt):
        child.start()
    assert started[0].wait(60) == -signal.SIGKILL
    started[0].stdout.close()  # type: ignore[union-attr]
    assert child.end() == 0


def test_a_child_is_ended_if_its_start_is_interrupted_once_it_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(_thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    child = Child(["sleep", "1000"], folder=tmp_path, environment=dict(os.environ), stdin=Path(os.devnull))
    with pytest.raises(KeyboardInterrupt):
        child.start()
    assert child.end() == -signal.SIGKILL
