from __future__ import annotations

from collections.abc import Iterator

import pytest

from keepwarm.hints import client as sending
from keepwarm.vllm.hints.listener import HintListener
from tests.hints.endpoint import PATIENCE_S, started


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client on a busy machine is no failure."""
    monkeypatch.setattr(sending, "TIMEOUT_S", PATIENCE_S)
    monkeypatch.setattr(sending, "CLOSE_S", PATIENCE_S)


@pytest.fixture
def listener() -> Iterator[HintListener]:
    listener = started()
    yield listener
    listener.close()
