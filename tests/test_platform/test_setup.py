"""Set-up on a machine that lacks something ends with one line that says what to do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def set_up(python: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [REPOSITORY / "scripts" / "make_venv.sh", str(folder / "venv")],
        env={**os.environ, "PYTHON": python},
        capture_output=True,
        text=True,
    )


def stand_in(folder: Path, script: str) -> str:
    """An executable that behaves as an interpreter of another kind would."""
    path = folder / "python-stand-in"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_an_old_interpreter_is_named_with_what_is_needed(tmp_path: Path) -> None:
    old = stand_in(tmp_path, 'if [ "$1" = --version ]; then echo Python 3.9.2; else exit 1; fi')
    done = set_up(old, tmp_path)
    assert done.returncode == 2
    assert "Python 3.9.2" in done.stderr
    assert "3.11" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "venv").exists()


def test_a_missing_interpreter_says_what_to_install(tmp_path: Path) -> None:
    done = set_up("python-that-is-not-there", tmp_path)
    assert done.returncode == 2
    assert "apt-get install -y python3-venv" in done.stderr
    assert done.stderr.count("\n") == 1
