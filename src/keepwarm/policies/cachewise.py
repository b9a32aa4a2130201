"""CacheWise: the session that comes back last gives up its blocks first.

Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal
5(2), 1966, over predictions: only the order of the times to reuse matters, and ``SessionRanks`` says it.

Rule: a block belongs to the sessions that were served it, and has the smallest of their ranks. The victim
is a block of the largest rank, of those the one that is free for the longest time. So of one session go
first the branches it left, then the tail of its newest prompt; a finished session goes at once, its rank
being the largest; sessions of equal rank go least recently used first, and if nothing is known of any this
is LRU.

Blocks of the same owners are a group: a queue in the order of release. A heap holds the groups by rank,
then by the release of their first block. Later victims may have overtaken what an entry says: it is
corrected when it comes to the top. An entry that has another version than its group is void, and dropped
there.

Ranks are read when a victim is asked for: of groups that have free blocks again, and, ``n_rebuild`` steps
after the last time, of all. For one victim at most ``MOST_READ`` groups are read, first those that never
were, then those read longest ago: with 10,000 sessions a rank is 20 such readings old at most.

The ``MOST_OWNERS`` owners that joined last are remembered. A block that had more is a crowd's: it goes
after all others, unless those remembered are all finished; then it goes before what will come back.

Cost: O(1) per block hit, freed or cached; a run of blocks that change owners costs O(MOST_OWNERS) more. A
victim is O(log groups), amortised: a victim pays for each correction. Reading g ranks is O(g log g).
Memory: O(1) for each block of the pool, groups without blocks being forgotten.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from itertools import chain, islice
from typing import NamedTuple

from keepwarm.policies._held import check_not_held
from keepwarm.policies.base import BlockId, CachedBlock
from keepwarm.policies.session_groups import Group, Owners, Place, Reading
from keepwarm.policies.sessions import SessionId, SessionRanks, SessionVictimOrder

N_REBUILD = 3  # steps of the engine
MOST_READ = 512

_NOBODY = SessionId("")
_NO_CHANGE = (None, None)


class _Entry(NamedTuple):
    """Of the heap; no two have the same version, so groups are never compared."""

    place: Place
    freed: int
    version: int
    group: Group


class CacheWise(SessionVictimOrder):
    """Groups of blocks by owners, in a heap. ``rank_faults`` counts ranks that raised or were none.

    Raises ``ValueError`` if ``n_rebuild`` is not positive.
    """

    name = "cachewise"

    def __init__(self, capacity_blocks: int, ranks: SessionRanks, *, n_rebuild: int = N_REBUILD) -> None:
        super().__init__(capacity_blocks, ranks)
        if n_rebuild < 1:
            raise ValueError(f"n_rebuild {n_rebuild!r}: read the ranks again after 1 step or more")
        self.rank_faults = 0
        self._n_rebuild = n_rebuild
        self._session = _NOBODY
        self._start()

    def _start(self) -> None:
        self._steps = 0  # since all ranks were read
        self._freed = 0
        self._version = 0
        self._held: dict[BlockId, CachedBlock] = {}
        self._group_of: dict[BlockId, Group] = {}  # of every cached block, in use or free
        self._groups: dict[Owners, Group] = {}
        self._unread: OrderedDict[Group, None] = OrderedDict()  # have free blocks, are not in the heap
        self._read: OrderedDict[Group, None] = OrderedDict()  # have free blocks, read longest ago first
        self._heap: list[_Entry] = []
        self._surely_first: Group | None = None  # whatever its first block, until a rank is read
        self._own: Group | None = None  # of the session served, and nobody else
        self._joined: tuple[Group | None, Group | None] = _NO_CHANGE  # owners before and after

    def serve(self, session: SessionId) -> None:
        """Blocks hit or cached from here on are served to ``session``."""
        if session != self._session:
            self._session = session
            self._own, self._joined = None, _NO_CHANGE

    def begin_step(self) -> None:
        """Count it."""
        self._steps += 1

    def reconsider(self, session: SessionId) -> None:
        """Read its rank at the next victim, for the blocks that it alone owns."""
        group = self._groups.get(Owners((session,)))
        if group is not None and group.free:
            self._out_of_heap(group)
            self._unread[group] = None

    def on_cache(self, block: CachedBlock) -> None:
        """New content belongs to the session served."""
        group = self._own
        if group is None or not group.blocks:
            group = self._own = self._group(Owners((self._session,)))
        self._move(block.id, group)

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        """The session served joins the owners; a free block leaves its queue."""
        group = self._group_of.get(block.id)
        if was_free:
            del self._held[block.id]
            if group is not None:
                del group.free[block.id]
                if not group.free:
                    self._out_of_heap(group)
        if group is None:
            self.on_cache(block)
        elif self._session not in group.owners.sessions:
            before, after = self._joined
            if before is not group or after is None or not after.blocks:
                after = self._group(group.owners.joined_by(self._session))
                self._joined = (group, after)
            self._move(block.id, after)

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        """To the end of the queues of their groups, one after the other."""
        check_not_held(blocks, self._held)
        group_of, held, freed = self._group_of, self._held, self._freed
        for block in blocks:
            block_id = block.id
            if block_id not in group_of:  # cached before anybody told
                self.on_cache(block)
            group = group_of[block_id]
            if not group.free:
                self._unread[group] = None
            held[block_id] = block
            group.free[block_id] = freed
            freed += 1
        self._freed = freed

    def pop_victim(self) -> CachedBlock:
        """Take the first block of the first group."""
        if not self._held:
            raise LookupError("no block is held")
        if self._unread or self._steps >= self._n_rebuild:
            self._read_ranks()
        group = self._surely_first or self._first()
        block_id, _ = group.free.popitem(last=False)
        if not group.free:
            self._out_of_heap(group)
        return self._held.pop(block_id)

    def on_evict(self, block: CachedBlock) -> None:
        """Forget its owners."""
        group = self._group_of.pop(block.id, None)
        if group is not None:
            self._leave(group)

    def on_reset(self) -> list[BlockId]:
        """Empty all queues and forget all owners."""
        blocks = list(self)
        self._start()
        return blocks

    def __iter__(self) -> Iterator[BlockId]:
        """Exact if no more than ``MOST_READ`` groups hold free blocks."""
        reading, to_read = Reading(self.ranks), set(self._to_read())
        ordered = sorted(
            (place, freed, block_id)
            for group in chain(self._read, self._unread)
            for place in (reading.place_of(group) if group in to_read else group.place,)
            for block_id, freed in group.free.items()
        )
        return iter([block_id for _, _, block_id in ordered])

    def __len__(self) -> int:
        return len(self._held)

    def _group(self, owners: Owners) -> Group:
        """The group of these owners, made if it is not there."""
        group = self._groups.get(owners)
        if group is None:
            group = self._groups[owners] = Group(owners)
        return group

    def _move(self, block_id: BlockId, group: Group) -> None:
        """Make a block that is not free one of ``group``."""
        before = self._group_of.get(block_id)
        self._group_of[block_id] = group
        group.blocks += 1
        if before is not None:
            self._leave(before)

    def _leave(self, group: Group) -> None:
        group.blocks -= 1
        if not group.blocks:
            del self._groups[group.owners]

    def _out_of_heap(self, group: Group) -> None:
        """Its entry is void from here on."""
        group.version = 0
        self._surely_first = None
        self._read.pop(group, None)
        self._unread.pop(group, None)

    def _to_read(self) -> list[Group]:
        """The groups whose ranks are to be read for the next victim."""
        groups = self._unread if self._steps < self._n_rebuild else chain(self._unread, self._read)
        return list(islice(groups, MOST_READ))

    def _read_ranks(self) -> None:
        reading, groups = Reading(self.ranks), self._to_read()
        for group in groups:
            group.place = reading.place_of(group)
            self._version += 1
            group.version = self._version
            self._unread.pop(group, None)
            self._read[group] = None
            self._read.move_to_end(group)
        self.rank_faults += reading.faults
        self._surely_first = None
        if self._steps >= self._n_rebuild:
            self._steps = 0
        if len(self._heap) + len(groups) >= 2 * len(self._read):  # half of it would be void
            self._heap = [self._entry(group) for group in self._read]
            heapify(self._heap)
        else:
            for group in groups:
                heappush(self._heap, self._entry(group))

    def _entry(self, group: Group) -> _Entry:
        return _Entry(group.place, group.first_freed(), group.version, group)

    def _first(self) -> Group:
        """The group that gives the next victim."""
        heap = self._heap
        while True:
            entry = heap[0]
            group = entry.group
            if group.version != entry.version:
                heappop(heap)
            elif group.first_freed() != entry.freed:
                heapreplace(heap, self._entry(group))
            else:
                if all(entry.place < other.place for other in heap[1:3]):
                    self._surely_first = group
                return group
