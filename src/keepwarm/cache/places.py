"""Where the ids of a trace lie: in memory, or in files that are mapped into it.

Pages of a mapped file are the kernel's to drop, and ours: ``drop_pages`` takes them off the process.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from keepwarm._spill import RunFolder

Ids = npt.NDArray[np.int32]


class Place(Protocol):
    """Room for ids that lie there until nobody uses them any more."""

    def blank(self, count: int) -> Ids:
        """An array to write to. Raises OSError: no room."""

    def filled(self, pieces: Iterable[Ids], count: int) -> Ids:
        """An array of ``pieces``, end to end. Raises OSError: no room."""


class InMemory:
    """Ordinary arrays."""

    def blank(self, count: int) -> Ids:
        return np.empty(count, dtype=np.int32)

    def filled(self, pieces: Iterable[Ids], count: int) -> Ids:
        ids = self.blank(count)
        at = 0
        for piece in pieces:
            ids[at : at + len(piece)] = piece
            at += len(piece)
        return ids


class InFiles:
    """Mapped files without names in the folder of a run."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder

    def blank(self, count: int) -> Ids:
        with self._folder.scratch() as file:
            if count:  # taken now: a write to a mapped hole on a full disk ends the process, not the call
                os.posix_fallocate(file.fileno(), 0, 4 * count)
            return _mapped(file, mmap.ACCESS_WRITE)

    def filled(self, pieces: Iterable[Ids], count: int) -> Ids:
        del count
        with self._folder.scratch() as file:
            for piece in pieces:
                file.write(piece.data)
            file.flush()
            return _mapped(file, mmap.ACCESS_READ)


def mapped(path: Path) -> Ids:
    """The ids in a file, read-only. Raises OSError."""
    with path.open("rb") as file:
        return _mapped(file, mmap.ACCESS_READ)


def drop_pages(ids: Ids) -> None:
    """Take the pages of a mapped file off this process; they are read again when they are used again."""
    owner: object = ids
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, memoryview):
        owner = owner.obj
    if isinstance(owner, mmap.mmap):
        owner.madvise(mmap.MADV_DONTNEED)


def _mapped(file: BinaryIO, access: int) -> Ids:
    if not file.seek(0, 2):
        return np.empty(0, dtype=np.int32)
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=access), dtype=np.int32)
