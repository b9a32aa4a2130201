from __future__ import annotations

from pathlib import Path

import pytest

from keepwarm.vllm.fingerprints import find
from keepwarm.vllm.source import anchors
from tests.vllm_source.trees import FILES, NAMES, write_tree


@pytest.fixture(autouse=True)
def _fingerprints_of_the_stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {
        path: {name: found.digest for name, found in find(FILES[path], names).items()}
        for path, names in NAMES.items()
    }
    monkeypatch.setattr(anchors, "FINGERPRINTS", table)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A stand-in for a vLLM checkout that can be patched."""
    return write_tree(tmp_path / "checkout")
