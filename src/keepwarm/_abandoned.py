"""Folders of runs that nobody goes on with: when code or trace change, their key is not asked for again."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

LOCK = "lock"
NAMED = re.compile(r"(?P<name>[\w.,+-]+)\.(?P<digest>[0-9a-f]{40})")
"""A file of a run: its name, and a digest of its content."""

KEPT_DAYS = 7
_MOST_SEEN, _MOST_REMOVED = 1024, 32  # of one call: a spill folder may lie among many other things
_KEY = re.compile(r"[0-9a-f]{40}")
_UNFINISHED = re.compile(r"(writing-|tmp)\w+")


def remove_abandoned(folder: Path) -> None:
    """Remove folders of runs in ``folder`` that nobody has used for ``KEPT_DAYS`` days.

    Only what is surely one of ours: named by a key, this user's, not locked, and with nothing in it that a
    run does not write. What cannot be removed stays.
    """
    oldest_s = time.time() - KEPT_DAYS * 86_400
    left = _MOST_REMOVED
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in islice(entries, _MOST_SEEN):
            if left and _KEY.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                left -= _removed(Path(entry.path), oldest_s)


def _removed(path: Path, oldest_s: float) -> bool:
    with contextlib.suppress(OSError), _held(path):
        files = list(path.iterdir())
        if all(_is_ours(file, oldest_s) for file in (path, *files)):
            for file in sorted(files, key=lambda file: file.name == LOCK):  # others see the lock to the end
                file.unlink()
            path.rmdir()
            return True
    return False


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Holds the lock of a run's folder. Raises OSError: there is none, or somebody has it."""
    lock = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


def _is_ours(path: Path, oldest_s: float) -> bool:
    info = path.lstat()
    if info.st_uid != os.getuid() or max(info.st_mtime, info.st_ctime) > oldest_s:
        return False
    if stat.S_ISDIR(info.st_mode):
        return _KEY.fullmatch(path.name) is not None
    named = path.name == LOCK or NAMED.fullmatch(path.name) or _UNFINISHED.fullmatch(path.name)
    return bool(named) and stat.S_ISREG(info.st_mode)
