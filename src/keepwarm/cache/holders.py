"""Which earlier request held each block: the baseline of every request, over whole traces at once.

Sorting block hashes brings the requests that share a block together, in request order; the
neighbour before an entry is the latest earlier holder. The sort goes bucket by bucket of
the hash's top bits, so that its scratch arrays stay a small part of the hashes themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm.trace.hashes import BlockHashes

RequestIndices = npt.NDArray[np.int32]

_BUCKET_BITS = 4
_ONE_BUCKET_BLOCKS = 1 << 18  # below this one sort is cheaper than sixteen selections


class Holders(NamedTuple):
    """Earlier holders of every block of every request, flat: request ``i`` has ``starts[i]:starts[i + 1]``.

    ``latest`` are indices of the latest earlier requests, -1 where none held the block.
    """

    starts: npt.NDArray[np.int64]
    latest: RequestIndices

    def shared_blocks(self) -> npt.NDArray[np.int64]:
        """Per request, the number of leading blocks that some earlier request held."""
        missing = np.append(np.flatnonzero(self.latest < 0), self.starts[-1])
        first_missing: npt.NDArray[np.int64] = missing[np.searchsorted(missing, self.starts[:-1])]
        return np.minimum(first_missing, self.starts[1:]) - self.starts[:-1]


class SharedPrefix(NamedTuple):
    """The longest block prefix that any earlier request had.

    ``request_index`` is the latest earlier request with all of it, -1 if ``blocks`` is 0.
    """

    request_index: int
    blocks: int


def block_holders(blocks: Sequence[BlockHashes]) -> Holders:
    """The latest earlier holder of each block.

    Beside its input and result it needs one copy of the hashes and some scratch for sorting a bucket.
    ``blocks[i]`` are the chained hashes of request ``i``, so none occurs twice in one request.
    """
    starts = np.zeros(len(blocks) + 1, dtype=np.int64)
    np.cumsum([len(hashes) for hashes in blocks], out=starts[1:])
    hashes = np.concatenate(blocks) if blocks else np.empty(0, dtype=np.uint64)
    latest = np.full(len(hashes), -1, dtype=np.int32)
    if len(hashes) < _ONE_BUCKET_BLOCKS:
        _fill(hashes, np.arange(len(hashes)), starts, latest)
        return Holders(starts, latest)
    bucket_of = (hashes >> np.uint64(64 - _BUCKET_BITS)).astype(np.uint8)
    for bucket in range(1 << _BUCKET_BITS):
        positions = np.flatnonzero(bucket_of == bucket)
        _fill(hashes[positions], positions, starts, latest)
    return Holders(starts, latest)


def longest_shared_prefix(blocks: Sequence[BlockHashes]) -> list[SharedPrefix]:
    """For each request the deepest block prefix that any earlier request had, and who had it last."""
    holders = block_holders(blocks)
    shared = holders.shared_blocks()
    prefixes: list[SharedPrefix] = []
    for start, count in zip(holders.starts[:-1].tolist(), shared.tolist(), strict=True):
        holder = int(holders.latest[start + count - 1]) if count else -1
        prefixes.append(SharedPrefix(holder, count))
    return prefixes


def _fill(
    hashes: BlockHashes,
    positions: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    latest: RequestIndices,
) -> None:
    """Write the holders of the blocks at ``positions`` (ascending) into ``latest``."""
    if not len(hashes):
        return
    order = np.argsort(hashes, kind="stable")  # stable: within a hash, in request order
    hashes = hashes[order]
    positions = positions[order]
    owners = (np.searchsorted(starts, positions, side="right") - 1).astype(np.int32)
    repeats = np.append(False, hashes[1:] == hashes[:-1])
    at = np.flatnonzero(repeats)
    latest[positions[at]] = owners[at - 1]
