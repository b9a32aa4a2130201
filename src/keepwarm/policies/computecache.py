"""ComputeCache: a boundary in the LRU list of free blocks keeps what was hit apart from what never was.

Source: segmented LRU (Karedla, Love, Wherry, IEEE Computer 27(3), 1994), fitted to vLLM's free queue.

    [ no hash | probation: never hit since cached; LRU | protected: hit at least once; LRU ]
      victims are taken from this end                  ^ boundary

A freed block that was never hit joins just before the boundary, one that was hit joins at the tail. Victims
are taken from the head as ever, so choosing one costs nothing. Before an allocation of n blocks at most
n + ``extra_demotions`` are demoted, stale ones first:

- *stale*: the boundary moves past the first protected block while that was not hit during the last
  ``stale_turnovers`` × capacity allocated blocks, or ``least_stale_blocks`` if that is more, so that
  nothing once hot stays for ever;
- *share*: while more than ``protected_share`` of the capacity is protected, the block of lowest keep value
  (``keep_value.py``) among the first ``scan_limit`` protected ones goes to just before the boundary.

What is left waits for the next allocation, so more than the share may be protected for a while. An allocation
takes n victims at most: none is protected while a block that is to be demoted waits.

Beside vLLM's own free queue: behind its blank blocks that queue is the two parts here, one after the other. A
freed block is appended if ``protects`` says so, else inserted before ``first_protected``; the only other move
is ``demote``, of one protected block to just before the boundary, where the first one stands already. Without
the boundary what remains is a valid stock list: that is the rollback.

Cost: O(1) per block hit, freed or taken. An allocation of n blocks demotes n + extra_demotions at most, at
O(log scan_limit) each, and reads scan_limit keep values more, however many blocks are held. A block is
demoted at most once for each time it was freed.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Container, Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import chain, islice

from keepwarm.policies._held import check_not_held
from keepwarm.policies.base import BlockId, CachedBlock, VictimOrder
from keepwarm.policies.keep_value import KEEP_WEIGHTS, BlockUses, KeepWeights

PROTECTED_SHARE = 0.4
STALE_TURNOVERS = 16.0
LEAST_STALE_BLOCKS = 16_384
SCAN_LIMIT = 4
EXTRA_DEMOTIONS = 64


def check_parameters(
    protected_share: float,
    stale_turnovers: float,
    least_stale_blocks: float,
    scan_limit: int,
    extra_demotions: int,
) -> None:
    """Raises ``ValueError`` for the first out of its range; NaN is in none."""
    if not 0 <= protected_share <= 1:
        raise ValueError(f"protected_share {protected_share!r}: protect from 0 to 1 of the capacity")
    if not stale_turnovers >= 0:
        raise ValueError(f"stale_turnovers {stale_turnovers!r}: count 0 capacities or more; inf is never")
    if not least_stale_blocks >= 0:
        raise ValueError(f"least_stale_blocks {least_stale_blocks!r}: count 0 blocks or more")
    if not scan_limit >= 1:
        raise ValueError(f"scan_limit {scan_limit!r}: look at 1 block at least")
    if not extra_demotions >= 0:
        raise ValueError(f"extra_demotions {extra_demotions!r}: demote 0 or more beside what is asked for")


class ComputeCache(VictimOrder):
    """Probation and protected part, the victims' end first.

    ``protected_share`` is from 0 to 1; ``stale_turnovers`` counts capacities allocated, ``inf`` is never.
    With ``hits_decay`` hits count half after each capacity of hits elsewhere. The defaults are those of
    docs/design/computecache.md. Raises ``ValueError`` for a parameter out of its range.
    """

    name = "computecache"

    def __init__(
        self,
        capacity_blocks: int,
        *,
        protected_share: float = PROTECTED_SHARE,
        stale_turnovers: float = STALE_TURNOVERS,
        least_stale_blocks: int = LEAST_STALE_BLOCKS,
        scan_limit: int = SCAN_LIMIT,
        extra_demotions: int = EXTRA_DEMOTIONS,
        hits_decay: bool = False,
        weights: KeepWeights = KEEP_WEIGHTS,
    ) -> None:
        super().__init__(capacity_blocks)
        check_parameters(protected_share, stale_turnovers, least_stale_blocks, scan_limit, extra_demotions)
        self._most_protected = int(protected_share * capacity_blocks)
        self._stale_blocks = max(stale_turnovers * capacity_blocks, least_stale_blocks)
        self._scan_limit = scan_limit
        self._extra_demotions = extra_demotions
        self._uses = BlockUses(half_life_ticks=capacity_blocks if hits_decay else None, weights=weights)
        self.scanned_blocks = 0  # keep values read so far
        self.allocated_blocks = 0
        self._probation: OrderedDict[BlockId, CachedBlock] = OrderedDict()
        self._protected: OrderedDict[BlockId, CachedBlock] = OrderedDict()

    @property
    def protected_blocks(self) -> int:
        """How many blocks are protected now. O(1)."""
        return len(self._protected)

    @property
    def first_protected(self) -> CachedBlock | None:
        """The block behind the boundary. O(1)."""
        return next(iter(self._protected.values()), None)

    def quiet_until(self) -> float:
        """The ``allocated_blocks`` up to which, but not with which, ``on_allocate`` has nothing to demote.

        Valid until a block joins or leaves the protected part. Does not mutate; O(1).
        """
        if len(self._protected) > self._most_protected:
            return 0
        first = next(iter(self._protected), None)
        return math.inf if first is None else self._uses.last_hit(first) + self._stale_blocks

    def take(self, block: BlockId) -> bool:
        """Let go of a block wherever it stands; False if it is not held. Mutates; O(1)."""
        return self._probation.pop(block, None) is not None or self._protected.pop(block, None) is not None

    def protects(self, block: CachedBlock) -> bool:
        """Whether a block joins the protected part when it is freed: it was hit since it was cached. O(1)."""
        return self._uses.was_hit(block.id)

    @property
    def hit_blocks(self) -> Container[BlockId]:
        """The blocks that ``protects`` says yes to; always up to date. O(1)."""
        return self._uses.hit_blocks

    def demote(self, block: CachedBlock) -> None:
        """Place a protected block just before the boundary. Mutates; O(1)."""
        self._probation[block.id] = self._protected.pop(block.id)

    def demote_in_turn(self, blocks: Sequence[CachedBlock]) -> None:
        """``demote`` of each, all of them protected. Mutates; O(len(blocks))."""
        for block in blocks:
            self.demote(block)

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        """Into the part that its hits say, at the end of it."""
        check_not_held(blocks, self._probation)
        check_not_held(blocks, self._protected)
        for block in blocks:
            part = self._protected if self.protects(block) else self._probation
            part[block.id] = block

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        """Count it; take a free block out of its part."""
        if was_free and self._probation.pop(block.id, None) is None:
            del self._protected[block.id]
        self.count_hit(block.id)

    def count_hit(self, block: BlockId) -> None:
        """A block that stands in no part is hit. Mutates; O(1)."""
        self._uses.hit(block, self.allocated_blocks)

    def on_allocate(self, new_blocks: int, blank_blocks: int) -> None:  # noqa: ARG002 - blank ones turn over too
        """Move the boundary: first for stale blocks, then for the share; bounded by the blocks asked for."""
        self.allocated_blocks += new_blocks
        left = new_blocks + self._extra_demotions
        stale_since = self.allocated_blocks - self._stale_blocks
        while left:
            first = self.first_protected
            if first is None or self._uses.last_hit(first.id) > stale_since:
                break
            self.demote(first)
            left -= 1
        count = min(left, len(self._protected) - self._most_protected)
        if count > 0:
            self.demote_in_turn(self._lowest(count))

    def pop_victim(self) -> CachedBlock:
        """Take the head: of probation, else of the protected part."""
        part = self._probation or self._protected
        return part.popitem(last=False)[1]

    def on_evict(self, block: CachedBlock) -> None:
        """Forget its hits."""
        self.forget(block.id)

    def forget(self, block: BlockId) -> None:
        """The content of a block is lost. Mutates; O(1)."""
        self._uses.forget(block)

    def on_reset(self) -> list[BlockId]:
        """Empty both parts, head first; all counts start anew."""
        blocks = list(self)
        self._probation.clear()
        self._protected.clear()
        self._uses.clear()
        self.allocated_blocks = 0
        return blocks

    def _lowest(self, count: int) -> list[CachedBlock]:
        """The lowest of the first ``scan_limit``, ``count`` times over; a heap holds that window."""
        blocks = list(islice(self._protected.values(), self._scan_limit + count - 1))
        self.scanned_blocks += len(blocks)
        ranked = list(zip(self._uses.keep_values(blocks), range(len(blocks)), strict=True))
        window = ranked[: self._scan_limit]
        heapify(window)
        lowest = [blocks[heapreplace(window, behind)[1]] for behind in ranked[self._scan_limit :]]
        lowest.extend(blocks[heappop(window)[1]] for _ in range(count - len(lowest)))
        return lowest

    def __iter__(self) -> Iterator[BlockId]:
        return chain(self._probation, self._protected)

    def __len__(self) -> int:
        return len(self._probation) + len(self._protected)
