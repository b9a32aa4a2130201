"""Which of an agent's changes the task allows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from keepwarm.repair.allowed import is_allowed

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
        elif not is_allowed(change.path, patterns):
            found.append(change.path)
    return tuple(found)
