"""Which paths a task allows: paths relative to the repository, or patterns as of pathlib's ``full_match``."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterable


def is_allowed(path: str, allowed: Iterable[str]) -> bool:
    """Whether one of ``allowed`` is ``path`` or matches it."""
    return any(path == pattern or _matches(tuple(path.split("/")), pattern) for pattern in allowed)


@functools.lru_cache(4096)
def _matches(parts: tuple[str, ...], pattern: str) -> bool:
    """``*`` and ``?`` stay within a folder, ``**`` stands for any number of folders."""
    if ".." in parts:
        return False
    return _match(parts, tuple(pattern.split("/")))


def _match(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_match(parts[n:], pattern[1:]) for n in range(len(parts) + 1))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0]) and _match(parts[1:], pattern[1:])
