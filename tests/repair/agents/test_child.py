"""A child by itself."""

from __future__ import annotations

import os
import signal
import subprocess
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
    with pytest.raises(KeyboardInterrupt):
        Child(["sleep", "1000"], folder=tmp_path, environment=dict(os.environ), stdin=stdin)
    assert started[0].wait(60) == -signal.SIGKILL
    started[0].stdout.close()  # type: ignore[union-attr]
