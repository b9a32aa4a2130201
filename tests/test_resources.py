"""A budget of memory as people write it, and where the rest goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from keepwarm._errors import InputError
from keepwarm._resources import Resources, memory_bytes, spill_folder


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4GiB", 4 << 30),
        ("4 gib", 4 << 30),
        ("1.5GB", 1_500_000_000),
        ("512MiB", 512 << 20),
        ("4294967296", 4 << 30),
        (" 1TiB ", 1 << 40),
    ],
)
def test_a_size_is_read(text: str, expected: int) -> None:
    assert memory_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "4G", "four", "-4GiB", "4GiBs", "0", "100MiB", "1e9", "4 Gi B", "٤GiB"])
def test_what_is_no_size_or_too_small_is_one_clear_line(text: str) -> None:
    with pytest.raises(InputError, match=r"write 4GiB|at least 512MiB"):
        memory_bytes(text)


def test_the_folder_asked_for_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KEEPWARM_CACHE_DIR", str(tmp_path / "cache"))
    assert spill_folder(Resources(spill=tmp_path / "here")) == tmp_path / "here"
    assert spill_folder(Resources()) == tmp_path / "cache" / "spill"


def test_without_a_home_a_folder_has_to_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEEPWARM_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", _no_home)
    with pytest.raises(InputError, match="--spill"):
        spill_folder(Resources())


def _no_home(_: Path) -> Path:
    raise RuntimeError("no home")
