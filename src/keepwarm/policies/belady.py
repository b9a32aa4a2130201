"""The offline optimum: told all look-ups to come, it gives up what is asked for last.

Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2),
1966 (MIN), adapted to a prefix cache.

Rule: the victim is (1) a duplicate, that is, another block with the same hash is there, in use or free;
(2) else the block whose next use is furthest away, those never asked for again before all others; (3) of
these the deepest, so that a prefix loses its end first; (4) of these the one let go longest ago. Blocks
of running requests are not free, so they cannot be victims. A use is a look-up that could hit: not that of
the block with the prompt's last token, which is computed in any case, and none by a request that skips reads.

Cost: O(log n) per block freed, asked for, or popped: a heap in which outdated entries stay until they come
up, or until they are the majority.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from keepwarm.policies._held import check_not_held
from keepwarm.policies.base import BlockHash, BlockId, CachedBlock, VictimOrder

_NEVER = sys.maxsize


class _Place(NamedTuple):
    """A held block and why it is where it is in the order: the smallest goes first."""

    sole: bool  # no other block has the hash
    earliness: int  # minus the next admission that asks for it
    shallowness: int  # minus its depth
    freed: int  # consecutive number of its release; no two are equal
    block: CachedBlock


class Belady(VictimOrder):
    """``lookups`` are the hashes that each admitted request could hit, in order of admission.

    What is passed to ``on_admit`` has to be these, one by one. Without them no block is ever asked for again.
    """

    name = "belady"

    def __init__(self, capacity_blocks: int, lookups: Iterable[Sequence[BlockHash]] = ()) -> None:
        super().__init__(capacity_blocks)
        self._uses: dict[BlockHash, list[int]] = {}  # admissions to come that ask for it, the next one last
        for admission, asked in enumerate(lookups):
            for block_hash in asked:
                self._uses.setdefault(block_hash, []).append(admission)
        for uses in self._uses.values():
            uses.reverse()
        self._admitted = 0
        self._freed = 0
        self._copies: dict[BlockHash, set[BlockId]] = {}
        self._held: dict[BlockId, _Place] = {}
        self._heap: list[_Place] = []  # those in ``_held`` and outdated ones

    def on_admit(self, asked: Sequence[BlockHash]) -> None:
        """These uses are over: what is held of them moves to its next one."""
        self._admitted += 1
        for block_hash in asked:
            uses = self._uses.get(block_hash, [])
            while uses and uses[-1] < self._admitted:
                uses.pop()
            self._place_again(block_hash)

    def on_cache(self, block: CachedBlock) -> None:
        """One copy more of its hash."""
        self._add_copy(block)

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        """Place each by its next use."""
        check_not_held(blocks, self._held)
        for block in blocks:
            self._add_copy(block)
            self._freed += 1
            self._place(block, self._freed)

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        """Take a free block out; ``on_admit`` has said already that it is asked for."""
        if was_free:
            del self._held[block.id]

    def pop_victim(self) -> CachedBlock:
        """Take the first in the order that is not outdated; its content is one copy less from now on."""
        if not self._held:
            raise LookupError("no block is held")
        place = heappop(self._heap)
        while self._held.get(place.block.id) is not place:
            place = heappop(self._heap)
        block = place.block
        del self._held[block.id]
        copies = self._copies[block.hash]
        copies.discard(block.id)
        if len(copies) == 1:
            self._place_again(block.hash)
        elif not copies:
            del self._copies[block.hash]
        return block

    def on_reset(self) -> list[BlockId]:
        """Forget blocks and copies; the look-ups to come stay the same."""
        blocks = list(self)
        self._held.clear()
        self._heap.clear()
        self._copies.clear()
        return blocks

    def _add_copy(self, block: CachedBlock) -> None:
        copies = self._copies.setdefault(block.hash, set())
        if block.id not in copies:
            copies.add(block.id)
            if len(copies) == 2:
                self._place_again(block.hash)

    def _place_again(self, block_hash: BlockHash) -> None:
        for block_id in sorted(self._copies.get(block_hash, ())):
            place = self._held.get(block_id)
            if place is not None:
                self._place(place.block, place.freed)

    def _place(self, block: CachedBlock, freed: int) -> None:
        uses = self._uses.get(block.hash)
        next_use = uses[-1] if uses else _NEVER
        sole = len(self._copies[block.hash]) == 1
        place = self._held[block.id] = _Place(sole, -next_use, -block.depth_blocks, freed, block)
        heappush(self._heap, place)
        if len(self._heap) > 2 * len(self._held) + 64:
            self._heap = list(self._held.values())
            heapify(self._heap)

    def __iter__(self) -> Iterator[BlockId]:
        copies = {block_hash: len(ids) for block_hash, ids in self._copies.items()}
        places = list(self._held.values())
        heapify(places)
        while places:
            place = heappop(places)
            block_hash = place.block.hash
            if not place.sole and copies[block_hash] == 1:  # its duplicates went before it
                heappush(places, place._replace(sole=True))
                continue
            copies[block_hash] -= 1
            yield place.block.id

    def __len__(self) -> int:
        return len(self._held)
