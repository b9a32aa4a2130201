"""The block pool, counting what is computed twice."""

from __future__ import annotations

from collections.abc import Sequence

from keepwarm.cache.pool import BlockPool
from keepwarm.policies.base import BlockHash, BlockId, VictimOrder


class CountingPool(BlockPool):
    """A pool that knows every hash it ever held: ``recomputed_blocks`` were there before and were lost."""

    def __init__(self, capacity_blocks: int, policy: VictimOrder) -> None:
        super().__init__(capacity_blocks, policy)
        self.recomputed_blocks = 0
        self._ever: set[BlockHash] = set()

    def cache_full_blocks(self, blocks: Sequence[BlockId], hashes: Sequence[BlockHash], start: int) -> None:
        """Also counts those that were computed before."""
        super().cache_full_blocks(blocks, hashes, start)
        fresh = hashes[start:]
        self.recomputed_blocks += len(self._ever.intersection(fresh))
        self._ever.update(fresh)
