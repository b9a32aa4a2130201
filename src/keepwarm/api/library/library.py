"""The served folder: what is in it, and the way to each result."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from keepwarm.api.schema.library import Item, Kind


class Found(NamedTuple):
    """A result and the file that was recognised: a document, within the served folder."""

    item: Item
    path: Path


class Library:
    """Everything below ``root``. ``revealed``: recorded values may be shown."""

    def __init__(self, root: Path, *, revealed: bool) -> None:
        self.root = root.resolve()
        self.revealed = revealed

    def items(self, kind: Kind | None = None) -> tuple[Item, ...]:
        """What is there now, newest first. Looks again if files changed; never raises for a bad file."""
        raise NotImplementedError

    def find(self, id: str, kind: Kind) -> Found:  # noqa: A002 - as the answer calls it
        """The result with that id. Raises NoSuchResult; InputError: it is there and cannot be read."""
        raise NotImplementedError
