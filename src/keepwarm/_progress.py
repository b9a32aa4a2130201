"""How long work says where it is: a protocol that the command line shows as a bar."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Hears what long work is doing. Neither method may raise."""

    def stage(self, name: str, total: int | None) -> None:
        """A new stage begins; ``total`` counts its steps, ``None`` when unknown."""

    def advance(self, n: int = 1) -> None:
        """``n`` more steps of the current stage are done."""


class Silent:
    """Nobody listens."""

    def stage(self, name: str, total: int | None) -> None:
        """Nobody listens."""

    def advance(self, n: int = 1) -> None:
        """Nobody listens."""


class Increments:
    """Turns a position that only rises into steps."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._at = 0

    def __call__(self, position: int) -> None:
        """The work has come to ``position``."""
        self._progress.advance(position - self._at)
        self._at = position
