"""What the dashboard says about causes is what the rules say."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import generate_causes


def test_the_file_is_what_the_rules_say() -> None:
    assert generate_causes.main(["--check"]) == 0


def test_another_content_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = tmp_path / "causes.json"
    stale.write_bytes(b"[]")
    monkeypatch.setattr(generate_causes, "PATH", stale)
    assert generate_causes.main(["--check"]) == 1
    assert "generate_causes" in capsys.readouterr().err
    assert stale.read_bytes() == b"[]"
