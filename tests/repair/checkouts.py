"""Small git checkouts to export tasks for."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path


def git(root: Path, *words: str) -> str:
    """Run git in ``root`` as nobody in particular."""
    who = ["-c", "user.name=Test", "-c", "user.email=test@invalid", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(root), *who, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def checkout(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """A repository at ``root`` with ``files`` committed."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q")
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    return root
