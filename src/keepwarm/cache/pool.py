"""The reference block pool: vLLM's prefix cache for one group of full attention, in plain Python.

A block is an index. It is in use (``ref_counts[block] > 0``), blank (free, no hash) or cached
(free, with a hash that a look-up can still find). Blank blocks are reused first; among cached ones a
policy names the victim. Evicting is lazy: a hash is removed when its block is handed out again.

A request goes through ``lookup`` → ``fits`` → ``admit`` → ``cache_full_blocks`` → ``free``; as its tokens are
scheduled chunk by chunk and its answer grows, ``allocate`` and ``cache_full_blocks`` repeat in between.
Semantics are those of vLLM 0.32.0, ``vllm/v1/core/block_pool.py`` and ``kv_cache_manager.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from keepwarm._errors import InputError, IntegrityError
from keepwarm.policies.base import BlockHash, BlockId, CachedBlock, VictimOrder

NULL_BLOCK = BlockId(0)


class Allocation(NamedTuple):
    """What a request got: its blocks, hits first, and the hashes that had to go for them."""

    blocks: list[BlockId]
    evicted: tuple[BlockHash, ...]


class BlockPool:
    """``capacity_blocks`` usable blocks beside the null block; ``policy`` must hold no block yet."""

    def __init__(self, capacity_blocks: int, policy: VictimOrder) -> None:
        if capacity_blocks < 1:
            raise InputError(f"capacity of {capacity_blocks!r} blocks; give at least 1 usable block")
        if len(policy):
            raise InputError(f"policy {policy.name!r} holds blocks of another pool; make a fresh one")
        self.capacity_blocks = capacity_blocks
        self.policy = policy
        self.ref_counts: list[int] = [0] * (capacity_blocks + 1)
        self.ref_counts[NULL_BLOCK] = 1  # never freed, never handed out
        self.contents: list[CachedBlock | None] = [None] * (capacity_blocks + 1)
        self._blank: deque[BlockId] = deque(map(BlockId, range(1, capacity_blocks + 1)))
        # Blocks of equal content are kept, oldest first, and never merged.
        self._by_hash: dict[BlockHash, list[BlockId]] = {}

    @property
    def free_blocks(self) -> int:
        """Number of blocks nobody uses, cached ones among them."""
        return len(self._blank) + len(self.policy)

    def free_order(self) -> list[BlockId]:
        """Blocks nobody uses, the next to be handed out first. Does not mutate; O(capacity)."""
        return [*self._blank, *self.policy]

    def lookup(self, hashes: Iterable[BlockHash]) -> list[BlockId]:
        """Blocks of the longest cached prefix of ``hashes``, for duplicates the oldest.

        Does not mutate; valid until the next ``admit``, ``allocate`` or ``reset``. The caller caps
        ``hashes`` so that at least the last token is computed.
        """
        found: list[BlockId] = []
        for block_hash in hashes:
            twins = self._by_hash.get(block_hash)
            if twins is None:
                break
            found.append(twins[0])
        return found

    def is_cached(self, block_hash: Hashable) -> bool:
        """Whether a look-up would find the block. Does not mutate; O(1)."""
        return block_hash in self._by_hash

    def fits(self, hits: Sequence[BlockId], new_blocks: int) -> bool:
        """Whether there is room: a hit on a free block uses capacity too. Does not mutate."""
        return new_blocks + sum(self.ref_counts[block] == 0 for block in hits) <= self.free_blocks

    def admit(
        self,
        asked: Sequence[BlockHash],
        hits: Sequence[BlockId],
        new_blocks: int,
        *,
        resumed: bool = False,
    ) -> Allocation:
        """Take ``hits`` (of a fresh ``lookup(asked)``) and ``new_blocks`` more, evicting as needed. Mutates.

        Hits are secured before the first victim is named. A ``resumed`` request was admitted before
        and preempted: the policy is not told of its admission again. Raises IntegrityError, and changes
        nothing, if it does not fit: ask ``fits`` first.
        """
        self._check_fits(hits, new_blocks)
        if not resumed:
            self.policy.on_admit(asked)
        for block in hits:
            self._touch(block)
        return self._take(list(hits), new_blocks)

    def allocate(self, new_blocks: int) -> Allocation:
        """Give an admitted request ``new_blocks`` more, evicting as needed. Mutates.

        Raises IntegrityError, and changes nothing, if they do not fit: ask ``fits`` first.
        """
        self._check_fits((), new_blocks)
        return self._take([], new_blocks)

    def cache_full_blocks(self, blocks: Sequence[BlockId], hashes: Sequence[BlockHash], start: int) -> None:
        """Let look-ups find ``blocks[start:len(hashes)]`` under their hashes. Mutates.

        ``blocks`` and ``hashes`` are a request's, from its first block on; ``start`` of them are cached
        already (hits, earlier chunks). Raises IntegrityError if a block has a hash or no user.
        """
        uncached = zip(blocks[start : len(hashes)], hashes[start:], strict=True)
        for depth_blocks, (block, block_hash) in enumerate(uncached, start + 1):
            if self.contents[block] is not None or self.ref_counts[block] == 0:
                raise IntegrityError(
                    f"block {block!r} cannot be cached as {block_hash!r}: it has {self.contents[block]!r} "
                    f"and {self.ref_counts[block]} users; pass the number of blocks already cached as start"
                )
            content = CachedBlock(block, block_hash, depth_blocks)
            self.contents[block] = content
            self._by_hash.setdefault(block_hash, []).append(block)
            self.policy.on_cache(content)

    def free(self, blocks: Sequence[BlockId]) -> None:
        """Let go of a request's blocks, given in prompt order; the tail is freed first. Mutates.

        Those nobody else uses become victims, blank ones before all others. Raises IntegrityError if a
        block is not in use.
        """
        cached: list[CachedBlock] = []
        blank: list[BlockId] = []
        for block in reversed(blocks):
            if block == NULL_BLOCK:
                continue
            if self.ref_counts[block] == 0:
                raise IntegrityError(f"block {block!r} is freed but not in use; free each request once")
            self.ref_counts[block] -= 1
            if self.ref_counts[block]:
                continue
            content = self.contents[block]
            if content is None:
                blank.append(block)
            else:
                cached.append(content)
        self._blank.extendleft(reversed(blank))  # to the front, keeping their order
        self.policy.on_free(cached)

    def reset(self) -> bool:
        """Forget all hashes; False, and nothing changes, while a request uses blocks. Mutates."""
        if self.free_blocks != self.capacity_blocks:
            return False
        self._blank.extend(self.policy.on_reset())
        self.contents = [None] * (self.capacity_blocks + 1)
        self._by_hash = {}
        return True

    def _check_fits(self, hits: Sequence[BlockId], new_blocks: int) -> None:
        if not self.fits(hits, new_blocks):
            raise IntegrityError(
                f"{new_blocks!r} new blocks and {len(hits)} hits do not fit {self.free_blocks} free blocks "
                f"of {self.capacity_blocks}; ask fits() first"
            )

    def _take(self, taken: list[BlockId], new_blocks: int) -> Allocation:
        evicted: list[BlockHash] = []
        if new_blocks:
            self.policy.on_allocate(new_blocks, len(self._blank))
        for _ in range(new_blocks):
            block = self._blank.popleft() if self._blank else self._evict(evicted)
            self.ref_counts[block] = 1
            taken.append(block)
        return Allocation(taken, tuple(evicted))

    def _touch(self, block: BlockId) -> None:
        content = self.contents[block]
        if content is None:
            raise IntegrityError(f"block {block!r} was looked up but has no hash; look up again")
        self.policy.on_hit(content, was_free=self.ref_counts[block] == 0)
        self.ref_counts[block] += 1

    def _evict(self, evicted: list[BlockHash]) -> BlockId:
        victim = self.policy.pop_victim()
        twins = self._by_hash[victim.hash]
        twins.remove(victim.id)
        if not twins:
            del self._by_hash[victim.hash]
        self.contents[victim.id] = None
        self.policy.on_evict(victim)
        evicted.append(victim.hash)
        return victim.id

    def check_integrity(self, tables: Iterable[Sequence[BlockId]] = ()) -> None:
        """Check every invariant; ``tables`` are the blocks of all running requests. Does not mutate.

        Raises IntegrityError that names the first block at fault. Cost: O(capacity).
        """
        self._check_users(tables)
        self._check_free_blocks()
        self._check_hash_map()

    def _check_users(self, tables: Iterable[Sequence[BlockId]]) -> None:
        users = [0] * (self.capacity_blocks + 1)
        users[NULL_BLOCK] = 1
        for table in tables:
            for block in table:
                users[block] += block != NULL_BLOCK
        for index, (count, expected) in enumerate(zip(self.ref_counts, users, strict=True)):
            if count != expected:
                raise IntegrityError(
                    f"block {index}: reference count {count}, but {expected} requests hold it"
                )

    def _check_free_blocks(self) -> None:
        cached = list(self.policy)
        if len(cached) != len(self.policy):
            raise IntegrityError(f"policy says it holds {len(self.policy)} blocks, but lists {len(cached)}")
        free = [*self._blank, *cached]
        if len(set(free)) != len(free):
            twice = next(block for block in free if free.count(block) > 1)
            raise IntegrityError(f"block {twice}: twice among the free blocks")
        for block in free:
            if self.ref_counts[block]:
                raise IntegrityError(
                    f"block {block}: free, but its reference count is {self.ref_counts[block]}"
                )
        for block in self._blank:
            if self.contents[block] is not None:
                raise IntegrityError(f"block {block}: blank, but has {self.contents[block]!r}")
        for block in cached:
            if self.contents[block] is None:
                raise IntegrityError(f"block {block}: held by the policy, but has no hash")
        used = sum(count > 0 for count in self.ref_counts) - 1
        if used + len(free) != self.capacity_blocks:
            raise IntegrityError(f"{used} used + {len(free)} free blocks are not {self.capacity_blocks}")

    def _check_hash_map(self) -> None:
        mapped: dict[BlockId, BlockHash] = {}
        for block_hash, twins in self._by_hash.items():
            if not twins:
                raise IntegrityError(f"hash {block_hash!r}: in the map without a block")
            for block in twins:
                if block in mapped:
                    raise IntegrityError(f"block {block}: twice in the hash map")
                mapped[block] = block_hash
        for index, content in enumerate(self.contents):
            found = mapped.get(BlockId(index))
            if (content and content.hash) != found:
                raise IntegrityError(f"block {index}: has {content!r}, but the hash map says {found!r}")
