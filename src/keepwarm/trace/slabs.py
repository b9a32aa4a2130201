"""Many small byte strings and arrays, kept side by side in large buffers.

Kept one by one they would lie scattered between short-lived objects and pin the memory around them:
a trace of a gigabyte then takes several times what is stored of it.
"""

from __future__ import annotations

from array import array

import numpy as np

from keepwarm.trace.hashes import BlockHashes

_SLAB_BYTES = 4 << 20


class ByteSlabs:
    """Byte strings by number, in the order in which they were added."""

    found = 0  # of an earlier run

    def __init__(self) -> None:
        self._slabs: list[bytearray] = []
        self._used_bytes = _SLAB_BYTES  # of the last slab
        self._slab_of = array("L")
        self._starts = array("L")
        self._lengths = array("L")

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, number: int) -> bytes:
        start = self._starts[number]
        slab = self._slabs[self._slab_of[number]]
        return bytes(slab[start : start + self._lengths[number]])

    def append(self, value: bytes) -> None:
        """Keep a copy of ``value``."""
        if not self._slabs or self._used_bytes + len(value) > len(self._slabs[-1]):
            self._slabs.append(bytearray(max(_SLAB_BYTES, len(value))))
            self._used_bytes = 0
        start = self._used_bytes
        self._slabs[-1][start : start + len(value)] = value
        self._slab_of.append(len(self._slabs) - 1)
        self._starts.append(start)
        self._lengths.append(len(value))
        self._used_bytes = start + len(value)


class HashSlabs:
    """Keeps arrays of block hashes as views into large ones."""

    def __init__(self) -> None:
        self._slab: BlockHashes = np.empty(0, dtype=np.uint64)
        self._used = 0

    def keep(self, blocks: BlockHashes) -> BlockHashes:
        """A lasting, read-only copy of ``blocks``."""
        if self._used + len(blocks) > len(self._slab):
            self._slab = np.empty(max(_SLAB_BYTES // 8, len(blocks)), dtype=np.uint64)
            self._used = 0
        kept = self._slab[self._used : self._used + len(blocks)]
        kept[:] = blocks
        kept.setflags(write=False)
        self._used += len(blocks)
        return kept
