"""The tracked text files of a repository, read within limits; what was not read is counted."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from keepwarm._errors import InputError
from keepwarm._text import count, counted

MOST_FILE_BYTES = 1 << 20
MOST_BYTES = 64 << 20
_GIT_S = 60
_PROBED_BYTES = 8192


class Source(NamedTuple):
    """A text file; ``path`` is relative to the repository, with slashes."""

    path: str
    text: str


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A checkout; ``paths`` are its tracked files below ``root``, ``commit`` what it stands at."""

    root: Path
    commit: str | None
    paths: tuple[str, ...]


class Reading(msgspec.Struct, kw_only=True):
    """What was read of a repository and what was not."""

    read: int = 0
    binary: int = 0
    large: int = 0
    beyond: int = 0  # files after the limit on bytes was reached
    unreadable: int = 0

    def said(self) -> str:
        """One sentence."""
        left_out = [
            f"{count(number)} {why}"
            for number, why in (
                (self.binary, "binary"),
                (self.large, f"over {MOST_FILE_BYTES >> 20} MiB"),
                (self.beyond, f"beyond {MOST_BYTES >> 20} MiB in all"),
                (self.unreadable, "links or unreadable"),
            )
            if number
        ]
        tail = f"; not read: {', '.join(left_out)}" if left_out else ""
        return f"{counted(self.read, 'tracked text file')} searched{tail}"


def open_repository(root: Path) -> Repository:
    """The repository at ``root``, or that ``root`` is a folder of. Runs ``git``, changes nothing.

    Raises:
        InputError: there is no such folder, it is in no git repository, or git cannot be run.
    """
    if not root.is_dir():
        raise InputError(f"--repo {str(root)!r} is not a folder; name the checkout of the application")
    listed = _git(root, "ls-files", "-z", "--cached")
    if listed is None:
        raise InputError(f"--repo {str(root)!r} is in no git repository; name a checkout, or run git init")
    head = _git(root, "rev-parse", "--verify", "-q", "HEAD")
    paths = sorted({os.fsdecode(path) for path in listed.split(b"\0") if path})
    return Repository(root=root, commit=None if head is None else head.decode().strip(), paths=tuple(paths))


def read_sources(repository: Repository, reading: Reading) -> Iterator[Source]:
    """The text files in order of their paths. Mutates ``reading``; reads at most ``MOST_BYTES``."""
    total = 0
    for path in repository.paths:
        file = repository.root / path
        try:
            if file.is_symlink() or not file.is_file():
                reading.unreadable += 1
                continue
            size = file.stat().st_size
            if size > MOST_FILE_BYTES:
                reading.large += 1
            elif total + size > MOST_BYTES:
                reading.beyond += 1
            else:
                raw = file.read_bytes()
                total += len(raw)
                if b"\0" in raw[:_PROBED_BYTES]:
                    reading.binary += 1
                else:
                    reading.read += 1
                    yield Source(path, raw.decode("utf-8", "replace"))
        except OSError:
            reading.unreadable += 1


def _git(root: Path, *arguments: str) -> bytes | None:
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(root), *arguments]
    try:
        # A list of words, never through a shell.
        run = subprocess.run(command, capture_output=True, timeout=_GIT_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"cannot run git in {str(root)!r}: {error}; install git") from error
    return run.stdout if run.returncode == 0 else None
