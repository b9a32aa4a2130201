"""Prompts laid out anew: as many hashes again as a call site has, so within a budget they go to disk, too."""

from __future__ import annotations

import os
import weakref
from array import array
from collections.abc import Iterator, MutableMapping
from typing import BinaryIO

from keepwarm.trace.blocks import Encoded, packed, unpacked


class SpilledChanges(MutableMapping[int, Encoded]):
    """Encoded requests by row in a file that goes with this object. Nothing is taken out again."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        weakref.finalize(self, file.close)
        self._places: dict[int, int] = {}
        self._ends = array("q", [0])

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __getitem__(self, row: int) -> Encoded:
        place = self._places[row]
        self._file.flush()
        start, end = self._ends[place], self._ends[place + 1]
        return unpacked(os.pread(self._file.fileno(), end - start, start))

    def __setitem__(self, row: int, encoded: Encoded) -> None:
        """Raises OSError: the disk is full, say."""
        raw = packed(encoded)
        self._file.write(raw)
        self._places[row] = len(self._ends) - 1
        self._ends.append(self._ends[-1] + len(raw))

    def __delitem__(self, row: int) -> None:
        raise NotImplementedError
