"""A document of keepwarm in the place of another is called what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keepwarm._errors import InputError
from keepwarm._json import to_json
from keepwarm.gate.baseline import read_baseline
from keepwarm.gate.files import read_tasks
from keepwarm.gate.prefixes.snapshot import read_snapshot
from keepwarm.repair.saved import read_diagnosis
from keepwarm.serving.profile import load_profile

OTHER = {"schema": "keepwarm.canary/1", "model": "m"}


@pytest.mark.parametrize(
    "read",
    [
        read_baseline,
        lambda path: read_tasks([path]),
        read_snapshot,
        read_diagnosis,
        lambda path: load_profile(str(path)),
    ],
    ids=["baseline", "task", "snapshot", "diagnosis", "profile"],
)
def test_its_schema_is_said(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(to_json(OTHER))
    with pytest.raises(
        InputError, match=r"it has the schema 'keepwarm\.canary/1', not 'keepwarm\."
    ) as refused:
        read(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("schema", ["x" * 1_000_000, "\x1b[2J\n\u202e", ""])
def test_a_hostile_one_is_one_short_line(tmp_path: Path, schema: str) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(to_json({"schema": schema}))
    with pytest.raises(InputError, match="it has the schema") as refused:
        read_baseline(path)
    assert len(str(refused.value)) < len(str(path)) + 300
    assert str(refused.value).isprintable()
