"""The offline optimum: told all requests to come, it gives up what is hit again last.

Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2),
1966 (MIN), adapted to a prefix cache.

Rule: the victim is (1) a block whose content is there twice, in use or free, or which the requests being
served compute again in any case; (2) else the one that is hit again last, those never hit again before all
others; (3) of these the deepest, so that a prefix loses its end first; (4) of these the one let go longest
ago. Blocks of running requests are not free, so they cannot be victims. A block is hit again when the next
request with its content looks it up. If that one does not (it is the block of its prompt's last token, or
of its answer, or it skips reads), it computes the block again: keeping it until then was for nothing.

On sequential replays this is the best any policy can do: keeping a block from one use to the next takes one
place all the while and is worth one block of hits, so of those that do not fit together the one to drop is
the one that would stay longest. Two things are outside of that, and there others can hit more: a match unit
of several blocks, where one block kept is worth nothing by itself; and requests served side by side, where
the choice of a victim also decides when the next request is admitted (rare, and shown in
``tests/serving/test_belady_in_flight.py``).

Cost: O(log n) per block freed, asked for, or popped: a heap in which outdated entries stay until they come
up, or until they are the majority.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from keepwarm.policies._held import check_not_held
from keepwarm.policies.base import BlockHash, BlockId, CachedBlock, VictimOrder

_NEVER = sys.maxsize


class _Use(NamedTuple):
    """An admission to come that has a content, and whether it looks it up."""

    admission: int
    looks_up: bool


class _Place(NamedTuple):
    """A held block and why it is where it is in the order: the smallest goes first."""

    sole: bool  # no other block has the content, or is about to
    earliness: int  # minus the admission that hits it next
    shallowness: int  # minus its depth
    freed: int  # consecutive number of its release; no two are equal
    block: CachedBlock


class Belady(VictimOrder):
    """``lookups`` are the hashes that each admitted request could hit, in order of admission.

    ``stored`` are, of the same requests, the hashes of all blocks they will have cached in the end, those
    looked up first; without it, just those. What is passed to ``on_admit`` has to be the ``lookups``, one by
    one. Without any, no block is ever hit again.
    """

    name = "belady"

    def __init__(
        self,
        capacity_blocks: int,
        lookups: Sequence[Sequence[BlockHash]] = (),
        stored: Sequence[Sequence[BlockHash]] | None = None,
    ) -> None:
        super().__init__(capacity_blocks)
        self._stored = lookups if stored is None else stored
        self._uses: dict[BlockHash, list[_Use]] = {}  # to come, the next one last
        for admission in range(len(lookups) - 1, -1, -1):
            looked_up = len(lookups[admission])
            for index, block_hash in enumerate(self._stored[admission]):
                self._uses.setdefault(block_hash, []).append(_Use(admission, index < looked_up))
        self._admitted = 0
        self._freed = 0
        self._computing: set[BlockHash] = set()  # of what is cached: admitted requests do not hit it
        self._copies: dict[BlockHash, set[BlockId]] = {}
        self._held: dict[BlockId, _Place] = {}
        self._heap: list[_Place] = []  # those in ``_held`` and outdated ones

    def on_admit(self, asked: Sequence[BlockHash]) -> None:
        """These uses are over. What is held of them is hit now, or is computed again."""
        stored = self._stored[self._admitted] if self._admitted < len(self._stored) else asked
        self._admitted += 1
        for block_hash in stored:
            uses = self._uses.get(block_hash, [])
            while uses and uses[-1].admission < self._admitted:
                uses.pop()
            if block_hash in self._copies:
                self._computing.add(block_hash)
                self._place_again(block_hash)

    def on_cache(self, block: CachedBlock) -> None:
        """One copy more of its content."""
        self._settle(block.hash)
        self._add_copy(block)

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        """Place each by its next use."""
        check_not_held(blocks, self._held)
        for block in blocks:
            self._add_copy(block)
            self._freed += 1
            self._place(block, self._freed)

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        """Take a free block out; its content is not computed again."""
        if was_free:
            del self._held[block.id]
        self._settle(block.hash)

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
            self._computing.discard(block.hash)
        return block

    def on_reset(self) -> list[BlockId]:
        """Forget blocks and copies; the requests to come stay the same."""
        blocks = list(self)
        self._held.clear()
        self._heap.clear()
        self._copies.clear()
        self._computing.clear()
        return blocks

    def _settle(self, block_hash: BlockHash) -> None:
        """Admitted requests no longer have to compute it."""
        if block_hash in self._computing:
            self._computing.remove(block_hash)
            self._place_again(block_hash)

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
        next_hit = uses[-1].admission if uses and uses[-1].looks_up else _NEVER
        sole = len(self._copies[block.hash]) == 1 and block.hash not in self._computing
        place = self._held[block.id] = _Place(sole, -next_hit, -block.depth_blocks, freed, block)
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
            last_copy = copies[block_hash] == 1 and block_hash not in self._computing
            if last_copy and not place.sole:  # its duplicates went before it
                heappush(places, place._replace(sole=True))
                continue
            copies[block_hash] -= 1
            yield place.block.id

    def __len__(self) -> int:
        return len(self._held)
