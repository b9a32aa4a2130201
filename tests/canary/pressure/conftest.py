from __future__ import annotations

import pytest

from keepwarm.canary.pressure import run, sending


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a counter or a reset."""
    monkeypatch.setattr(sending, "_COUNTER_PAUSE_S", 0)
    monkeypatch.setattr(run, "_RESET_PAUSE_S", 0)
