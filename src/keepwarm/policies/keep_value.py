"""How much a cached block is worth keeping: its hits, its depth and how long ago it was last hit.

keep value = hits · 64 + min(depth, 4096) − min(age, 4096), less 4096 for a block that was never hit; the
weights are those of ``KeepWeights``. Depth is in blocks. Age is counted on a clock that ticks once per hit of
any block, since the block's own last hit or, before its first, since it was cached. Hits saturate at 255.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
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
        # Of each block that was hit: its hits, and the clock and the caller's ``now`` at the last one. One
        # plain tuple, as what stands apart is read apart, from memory, when a server is busy.
        self._hit: dict[BlockId, tuple[int, int, int]] = {}
        self._cached_at: dict[BlockId, int] = {}

    def cached(self, block: BlockId) -> None:
        """The block got its hash: its age counts from here."""
        self._cached_at[block] = self._clock
        if block in self._hit:
            hits, _, now = self._hit[block]
            self._hit[block] = hits, self._clock, now

    def hit(self, block: BlockId, now: int = 0) -> None:
        """The block is hit, at ``now`` on a clock of the caller's: the clock here ticks, and its age is 0."""
        hits = 0
        if block in self._hit:
            hits, used_at, _ = self._hit[block]
            if self._half_life_ticks is not None:
                hits >>= (self._clock - used_at) // self._half_life_ticks
        self._clock += 1
        self._hit[block] = min(hits + 1, MOST_HITS), self._clock, now

    def hit_in_turn(self, blocks: Sequence[BlockId], now: int = 0) -> None:
        """``hit`` of each, in one call."""
        if self._half_life_ticks is not None:
            for block in blocks:
                self.hit(block, now)
            return
        all_hit, clock = self._hit, self._clock
        for block in blocks:
            clock += 1
            hit = all_hit.get(block)
            all_hit[block] = 1 if hit is None else min(hit[0] + 1, MOST_HITS), clock, now
        self._clock = clock

    def was_hit(self, block: BlockId) -> bool:
        """Whether the block was hit at least once since it was cached."""
        return block in self._hit

    def last_hit(self, block: BlockId) -> int:
        """The ``now`` of the last hit of a block; ``KeyError`` if it was never hit."""
        return self._hit[block][2]

    @property
    def hit_blocks(self) -> Container[BlockId]:
        """The blocks hit at least once since they were cached; always up to date."""
        return self._hit.keys()

    def keep_value(self, block: CachedBlock) -> int:
        """Higher is better kept. Does not mutate."""
        return self.keep_values((block,))[0]

    def keep_values(self, blocks: Iterable[CachedBlock]) -> list[int]:
        """``keep_value`` of each, in one call. Does not mutate; O(len(blocks))."""
        reuse, depth, age, quick_demote_penalty = self._weights
        all_hit, clock, half_life_ticks = self._hit, self._clock, self._half_life_ticks
        values = []
        for block in blocks:
            hit = all_hit.get(block.id)
            hits, used_at = hit[:2] if hit is not None else (0, self._cached_at.get(block.id, clock))
            age_ticks = clock - used_at
            if half_life_ticks is not None:
                hits >>= age_ticks // half_life_ticks
            value = hits * reuse
            value += min(block.depth_blocks, MOST_DEPTH_BLOCKS) * depth - min(age_ticks, MOST_AGE_TICKS) * age
            values.append(value if hits else value - quick_demote_penalty)
        return values

    def forget(self, block: BlockId) -> None:
        """The content of the block is lost."""
        self._hit.pop(block, None)
        if self._cached_at:
            self._cached_at.pop(block, None)

    def clear(self) -> None:
        """Forget all blocks; the clock starts anew."""
        self._clock = 0
        self._hit.clear()
        self._cached_at.clear()
