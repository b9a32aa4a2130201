"""Which evicted content is computed again: what the eviction cost."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable


class EvictedHashes:
    """The last ``most`` evicted hashes, oldest first out. O(1) each, nothing raises."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._hashes: OrderedDict[Hashable, None] = OrderedDict()

    def add(self, block_hash: Hashable) -> None:
        """Its content is cached nowhere any more."""
        self._hashes[block_hash] = None
        if len(self._hashes) > self._most:
            self._hashes.popitem(last=False)

    def take(self, block_hash: Hashable) -> bool:
        """Whether content that is cached now had been evicted; it is forgotten then."""
        return self._hashes.pop(block_hash, self) is None

    def clear(self) -> None:
        """Forget all."""
        self._hashes.clear()
