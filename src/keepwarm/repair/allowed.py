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
    """``*`` and ``?`` stay within a folder, ``**`` stands for any number of folders.

    All places in the pattern that the path may have come to are followed at once: trying one after the other
    takes exponential time where several ``**`` stand in a row.
    """
    if ".." in parts:
        return False
    wanted = tuple(pattern.split("/"))
    reached = _with_skipped({0}, wanted)
    for part in parts:
        reached = _with_skipped({place for here in reached for place in _after(part, wanted, here)}, wanted)
    return len(wanted) in reached


def _after(part: str, wanted: tuple[str, ...], here: int) -> tuple[int, ...]:
    """The places of ``wanted`` that ``part`` leads to from ``here``."""
    if here == len(wanted):
        return ()
    if wanted[here] == "**":
        return (here,)
    return (here + 1,) if fnmatch.fnmatchcase(part, wanted[here]) else ()


def _with_skipped(reached: set[int], wanted: tuple[str, ...]) -> set[int]:
    """``reached``, and what lies behind each ``**`` that stands for no folder."""
    for here, word in enumerate(wanted):
        if here in reached and word == "**":
            reached.add(here + 1)
    return reached
