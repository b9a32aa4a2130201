"""How much a cached block is worth keeping: its hits, its depth and how long ago it was last hit.

keep value = hits · 64 + min(depth, 4096) − min(age, 4096), less 4096 for a block that was never hit; the
weights are those of ``KeepWeights``. Depth is in blocks. Age is counted on a clock that ticks once per hit of
any block, since the block's own last hit or, before its first, since it was cached. Hits saturate at 255.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from keepwarm.policies.base import BlockId, CachedBlock


class KeepWeights(NamedTuple):
    """What hits, depth and age count for, and what a block that was never hit loses; each 0 or more."""

    reuse: int = 64
    depth: int = 1
    age: int = 1
    quick_demote_penalty: int = 4096


KEEP_WEIGHTS = KeepWeights()
MOST_DEPTH_BLOCKS = 4096
MOST_AGE_TICKS = 4096
MOST_HITS = 255


class BlockUses:
    """Hits and age of each cached block, from ``cached`` to ``forget``. O(1) each, nothing raises.

    With ``half_life_ticks`` the hits of a block halve each time that many ticks pass without one.
    """

    def __init__(self, half_life_ticks: int | None = None, *, weights: KeepWeights = KEEP_WEIGHTS) -> None:
        self._weights = weights
        self._half_life_ticks = half_life_ticks
        self._clock = 0
        self._hits: dict[BlockId, int] = {}  # blocks hit at least once
        self._used_at: dict[BlockId, int] = {}

    def cached(self, block: BlockId) -> None:
        """The block got its hash: its age counts from here."""
        self._used_at[block] = self._clock

    def hit(self, block: BlockId) -> None:
        """The block is hit: the clock ticks, and its age is 0 now."""
        hits = self._hits_left(block)
        self._clock += 1
        self._used_at[block] = self._clock
        self._hits[block] = min(hits + 1, MOST_HITS)

    def hit_in_turn(self, blocks: Sequence[BlockId]) -> None:
        """``hit`` of each, in one call."""
        if self._half_life_ticks is not None:
            for block in blocks:
                self.hit(block)
            return
        hits, used_at, clock = self._hits, self._used_at, self._clock
        for block in blocks:
            clock += 1
            used_at[block] = clock
            count = hits.get(block, 0)
            hits[block] = count + 1 if count < MOST_HITS else MOST_HITS  # min() costs more
        self._clock = clock

    def was_hit(self, block: BlockId) -> bool:
        """Whether the block was hit at least once since it was cached."""
        return block in self._hits

    @property
    def hit_blocks(self) -> Container[BlockId]:
        """The blocks hit at least once since they were cached; always up to date."""
        return self._hits.keys()

    def keep_value(self, block: CachedBlock) -> int:
        """Higher is better kept. Does not mutate."""
        hits = self._hits_left(block.id)
        weights = self._weights
        value = hits * weights.reuse + min(block.depth_blocks, MOST_DEPTH_BLOCKS) * weights.depth
        value -= min(self._age(block.id), MOST_AGE_TICKS) * weights.age
        return value if hits else value - weights.quick_demote_penalty

    def forget(self, block: BlockId) -> None:
        """The content of the block is lost."""
        self._hits.pop(block, None)
        self._used_at.pop(block, None)

    def clear(self) -> None:
        """Forget all blocks; the clock starts anew."""
        self._clock = 0
        self._hits.clear()
        self._used_at.clear()

    def _age(self, block: BlockId) -> int:
        return self._clock - self._used_at.get(block, self._clock)

    def _hits_left(self, block: BlockId) -> int:
        hits = self._hits.get(block, 0)
        if self._half_life_ticks is None:
            return hits
        return hits >> (self._age(block) // self._half_life_ticks)
