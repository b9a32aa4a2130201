"""The files of a folder, bounded, without ever following a link."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MOST_FILES = 100_000
MOST_DEPTH = 24
_SKIPPED = frozenset({"node_modules", "__pycache__"})


class Seen(NamedTuple):
    """A plain file: where it is, and what tells that it was written again."""

    path: str  # absolute
    relative: str  # to the folder, with slashes
    size_bytes: int
    modified_ns: int


def walk(root: Path) -> Iterator[Seen]:
    """Plain files below ``root``, nearest first, names in order, ``MOST_FILES`` at most.

    Hidden folders and files, installed packages and links are left out; so is what cannot be read.
    """
    left = MOST_FILES
    waiting = deque([(str(root), "", 0)])
    while waiting and left > 0:
        folder, prefix, depth = waiting.popleft()
        for entry in _entries(folder):
            relative = f"{prefix}{entry.name}"
            try:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED and depth < MOST_DEPTH:
                        waiting.append((entry.path, f"{relative}/", depth + 1))
                elif entry.is_file(follow_symlinks=False):
                    told = entry.stat(follow_symlinks=False)
                    yield Seen(entry.path, relative, told.st_size, told.st_mtime_ns)
                    left -= 1
            except OSError:  # it went away meanwhile
                continue
            if left <= 0:
                return


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            shown = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError:
        return []
    return sorted(shown, key=lambda entry: entry.name)
