"""Which evicted content is computed again: what the eviction cost."""

from __future__ import annotations

from collections.abc import Hashable


class EvictedHashes:
    """The last evicted hashes, ``most`` at most and half of that at least. O(1) each, nothing raises.

    Who adds to ``recent`` calls ``turn`` when it holds ``half``; a call less for each block.
    """

    def __init__(self, most: int) -> None:
        self.half = max(1, most // 2)
        self.recent: dict[Hashable, None] = {}
        self.older: dict[Hashable, None] = {}

    def turn(self) -> None:
        """Forget the older half."""
        self.older, self.recent = self.recent, {}

    def holds(self, block_hash: Hashable) -> bool:
        """Whether it was evicted and not cached since, as far as is known."""
        return block_hash in self.recent or block_hash in self.older

    def discard(self, block_hash: Hashable) -> None:
        """Its content is cached again."""
        self.recent.pop(block_hash, None)
        self.older.pop(block_hash, None)

    def clear(self) -> None:
        """Forget all."""
        self.recent.clear()
        self.older.clear()
