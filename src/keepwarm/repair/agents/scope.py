"""Which of an agent's changes the task allows."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import NamedTuple

_SUBMODULE, _LINK, _PROGRAM, _NOTHING = "160000", "120000", "100755", "000000"


class Change(NamedTuple):
    """A path that differs; modes as git writes them, ``000000`` where there is no file."""

    path: str
    old_mode: str
    mode: str

    def special(self) -> str | None:
        """What no repair of prompts needs: a link, a submodule, another mode."""
        modes = {self.old_mode, self.mode}
        if _LINK in modes:
            return "a symbolic link"
        if _SUBMODULE in modes:
            return "a repository within"
        if _NOTHING not in modes and self.old_mode != self.mode:
            return f"mode {self.old_mode} became {self.mode}"
        if self.old_mode == _NOTHING and self.mode == _PROGRAM:
            return "a new program"
        return None


def out_of_scope(changes: Iterable[Change], allowed: Iterable[str]) -> tuple[str, ...]:
    """The paths that must not have changed, each with the reason if its name alone does not say it."""
    patterns = tuple(allowed)
    found = []
    for change in changes:
        special = change.special()
        if special is not None:
            found.append(f"{change.path} ({special})")
        elif not any(_matches(change.path, pattern) for pattern in patterns):
            found.append(change.path)
    return tuple(found)


def _matches(path: str, pattern: str) -> bool:
    return path == pattern or _match(tuple(path.split("/")), tuple(pattern.split("/")))


def _match(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """As pathlib's ``full_match``: ``*`` stays within a folder, ``**`` stands for any number of them."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_match(parts[n:], pattern[1:]) for n in range(len(parts) + 1))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0]) and _match(parts[1:], pattern[1:])
