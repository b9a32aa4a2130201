"""The block pool for long runs: that of ``keepwarm.cache.pool``, a request's blocks handled all at once.

It does what that pool does and tells the policy the same things in the same order; held to it by
``tests/serving/test_pool.py``. Beyond it, it counts what is computed twice, and says whether anything has
changed that could let a request fit which did not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import count, islice, repeat

from keepwarm._errors import IntegrityError
from keepwarm.cache.pool import NULL_BLOCK, Allocation, BlockPool
from keepwarm.policies.base import BlockHash, BlockId, CachedBlock, VictimOrder
from keepwarm.policies.sessions import SessionVictimOrder

_AT_ONCE = 256  # hashes looked up before it is asked whether one of them was missed


class ServingPool(BlockPool):
    """A pool whose look-ups go through a flat map; the few blocks of equal content are kept apart.

    ``recomputed_blocks`` were cached before and had been lost. ``changes`` moves on with everything that
    can raise the number of a watched request's blocks in use. ``grows_unheard``: the policy does nothing
    when blocks are handed out and cached, and its choice does not move with time.
    """

    def __init__(self, capacity_blocks: int, policy: VictimOrder) -> None:
        super().__init__(capacity_blocks, policy)
        self.recomputed_blocks = 0
        self.changes = 0
        self._first: dict[BlockHash, BlockId] = {}  # the oldest block of each content
        self._twins: dict[BlockHash, list[BlockId]] = {}  # the younger ones
        self._ever: set[BlockHash] = set()
        self._watched: frozenset[BlockHash] = frozenset()
        self._told_of_cached = _listens(policy, "on_cache")
        self._told_of_evicted = _listens(policy, "on_evict")
        self.grows_unheard = not (
            self._told_of_cached
            or self._told_of_evicted
            or _listens(policy, "on_allocate")
            or isinstance(policy, SessionVictimOrder)
        )

    def watch(self, hashes: Iterable[BlockHash]) -> None:
        """Move ``changes`` on when one of these is cached, in place of those given before. Mutates."""
        self._watched = frozenset(hashes)

    def lookup(self, hashes: Iterable[BlockHash]) -> list[BlockId]:
        """As the pool's; asked in batches."""
        found: list[BlockId | None] = []
        rest = iter(hashes)
        get = self._first.get
        while batch := list(map(get, islice(rest, _AT_ONCE))):
            found += batch
            if None in batch:
                return found[: found.index(None)]  # type: ignore[return-value]
        return found  # type: ignore[return-value]

    def is_cached(self, block_hash: Hashable) -> bool:
        """As the pool's."""
        return block_hash in self._first

    def count_cached(self, hashes: Iterable[BlockHash]) -> int:
        """How many of ``hashes`` a look-up would find here. Does not mutate."""
        return sum(map(self._first.__contains__, hashes))

    def blocks_in_use(self, blocks: Sequence[BlockId]) -> int:
        """How many of ``blocks`` a request uses. Does not mutate."""
        return len(blocks) - list(map(self.ref_counts.__getitem__, blocks)).count(0)

    def fits(self, hits: Sequence[BlockId], new_blocks: int) -> bool:
        """As the pool's."""
        return new_blocks + len(hits) - self.blocks_in_use(hits) <= self.free_blocks

    def admit(
        self,
        asked: Sequence[BlockHash],
        hits: Sequence[BlockId],
        new_blocks: int,
        *,
        resumed: bool = False,
    ) -> Allocation:
        """As the pool's."""
        self.changes += 1
        self._check_fits(hits, new_blocks)
        if not resumed:
            self.policy.on_admit(asked)
        ref_counts, contents, on_hit = self.ref_counts, self.contents, self.policy.on_hit
        for block in hits:
            content, users = contents[block], ref_counts[block]
            if content is None:
                raise IntegrityError(f"block {block!r} was looked up but has no hash; look up again")
            on_hit(content, was_free=not users)
            ref_counts[block] = users + 1
        return self._take(list(hits), new_blocks)

    def cache_full_blocks(self, blocks: Sequence[BlockId], hashes: Sequence[BlockHash], start: int) -> None:
        """As the pool's."""
        fresh = hashes[start:]
        into = blocks[start : len(hashes)]
        if len(into) != len(fresh):
            raise IntegrityError(f"{len(blocks)} blocks for {len(hashes)} hashes")
        contents, first = self.contents, self._first
        for block, block_hash in zip(into, fresh, strict=True):
            if contents[block] is not None or not self.ref_counts[block]:
                raise IntegrityError(f"block {block!r} cannot be cached as {block_hash!r}: it is, or is free")
        made = list(map(tuple.__new__, repeat(CachedBlock), zip(into, fresh, count(start + 1), strict=False)))
        for block, content in zip(into, made, strict=True):
            contents[block] = content
        if first.keys().isdisjoint(fresh):
            first.update(zip(fresh, into, strict=True))
        else:
            self._add_twins(into, fresh)
        if self._told_of_cached:
            for content in made:
                self.policy.on_cache(content)
        self.changes += not self._watched.isdisjoint(fresh)
        self.recomputed_blocks += len(self._ever.intersection(fresh))
        self._ever.update(fresh)

    def _add_twins(self, blocks: Sequence[BlockId], hashes: Sequence[BlockHash]) -> None:
        for block, block_hash in zip(blocks, hashes, strict=True):
            if self._first.setdefault(block_hash, block) != block:
                self._twins.setdefault(block_hash, []).append(block)

    def free(self, blocks: Sequence[BlockId]) -> None:
        """As the pool's."""
        self.changes += 1
        counts = list(map(self.ref_counts.__getitem__, blocks))
        if counts.count(1) != len(blocks) or NULL_BLOCK in blocks:
            super().free(blocks)
            return
        for block in blocks:
            self.ref_counts[block] = 0
        contents = list(map(self.contents.__getitem__, reversed(blocks)))
        if None in contents:
            blank = [block for block in blocks if self.contents[block] is None]
            self._blank.extendleft(blank)
        self.policy.on_free([content for content in contents if content is not None])

    def reset(self) -> bool:
        """As the pool's."""
        self.changes += 1
        done = super().reset()
        if done:
            self._first.clear()
            self._twins.clear()
        return done

    def _take(self, taken: list[BlockId], new_blocks: int) -> Allocation:
        blank = self._blank
        victims = new_blocks - len(blank)
        if new_blocks:
            self.policy.on_allocate(new_blocks, len(blank))
        fresh = [blank.popleft() for _ in range(min(new_blocks, len(blank)))]
        evicted = self._evict_many(victims, fresh) if victims > 0 else ()
        for block in fresh:
            self.ref_counts[block] = 1
        taken += fresh
        return Allocation(taken, evicted)

    def _evict_many(self, victims: int, fresh: list[BlockId]) -> tuple[BlockHash, ...]:
        policy, contents, first = self.policy, self.contents, self._first
        evicted: list[BlockHash] = []
        for _ in repeat(None, victims):
            victim = policy.pop_victim()
            block, block_hash, _ = victim
            if block_hash in self._twins:
                self._lose_one(block_hash, block)
            else:
                del first[block_hash]
            contents[block] = None
            if self._told_of_evicted:
                policy.on_evict(victim)
            evicted.append(block_hash)
            fresh.append(block)
        return tuple(evicted)

    def _lose_one(self, block_hash: BlockHash, block: BlockId) -> None:
        """One of several of equal content goes; the oldest of the others is found from now on."""
        self.changes += 1
        twins = self._twins[block_hash]
        if self._first[block_hash] == block:
            self._first[block_hash] = twins.pop(0)
        else:
            twins.remove(block)
        if not twins:
            del self._twins[block_hash]

    def _check_hash_map(self) -> None:
        self._by_hash = {
            block_hash: [block, *self._twins.get(block_hash, ())] for block_hash, block in self._first.items()
        }
        super()._check_hash_map()


def _listens(policy: VictimOrder, method: str) -> bool:
    """Whether the policy does anything when told."""
    return getattr(type(policy), method) is not getattr(VictimOrder, method)
