"""The two policies of ``keepwarm.policies``, with each of their moves made in vLLM's list.

vLLM's list is their queue: what it tells, they do not hold a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from itertools import islice
from typing import Protocol

from keepwarm.policies.base import BlockHash, BlockId, CachedBlock
from keepwarm.policies.computecache import ComputeCache
from keepwarm.policies.computecache_window import ComputeCacheWindow
from keepwarm.vllm.faults import PinnedError
from keepwarm.vllm.settings import Settings
from keepwarm.vllm.stock import Block, Pool, free_blocks, move

NO_HASH = BlockHash(0)  # ComputeCache knows blocks by their ids; only their depth is read


class BoundaryOrder(ComputeCache):
    """The rule ``boundary``. It holds the protected part; probation is vLLM's list before that."""

    by_session = is_aged_by_caching = False

    def __init__(self, pool: Pool, settings: Settings) -> None:
        super().__init__(
            pool.num_gpu_blocks - 1,
            protected_share=settings.protected_share,
            stale_turnovers=settings.stale_turnovers,
            least_stale_blocks=settings.least_stale_blocks,
            scan_limit=settings.scan_limit,
            weights=settings.weights,
        )
        self._blocks = pool.blocks
        self.demoted_blocks = 0

    def keep(self, blocks: Sequence[CachedBlock]) -> bool:
        """All of them to the end of the protected part: others are not given to it."""
        protected = self._protected
        before = len(protected)
        for block in blocks:
            protected[block.id] = block
        after = len(protected)
        if after != before + len(blocks):
            raise ValueError(f"blocks freed twice: {blocks!r}")
        return not before or after > self._most_protected

    def front(self) -> tuple[BlockId | None, float]:
        """``first_protected`` and ``quiet_until`` in one look. O(1)."""
        return next(iter(self._protected), None), self.quiet_until()

    def use(self, blocks: Sequence[BlockId], hit: Sequence[BlockId]) -> bool:
        """``take`` of each block, ``count_hit`` of each that is hit; whether any was held. O(len(blocks))."""
        protected = self._protected
        was_held = False
        for block in blocks:
            if block in protected:  # seldom: pop() would cost more
                del protected[block]
                was_held = True
        self._uses.hit_in_turn(hit, self.allocated_blocks)
        return was_held

    def lose(self, block: BlockId) -> bool:
        """``take`` and ``forget`` in one. O(1)."""
        self._uses.forget(block)
        return self._protected.pop(block, None) is not None

    def demote(self, block: CachedBlock) -> None:
        """Raises ``PinnedError`` if somebody uses the block, ``LookupError`` if the list has lost it."""
        self.demote_in_turn([block])

    def demote_in_turn(self, blocks: Sequence[CachedBlock]) -> None:
        """As ``demote``; no block is moved where one is in use."""
        protected = self._protected
        moved = [_unpinned(self._blocks[block.id]) for block in blocks]
        behind = self._blocks[next(reversed(protected))].next_free_block
        for block in blocks:
            del protected[block.id]
        self.demoted_blocks += len(blocks)
        first = next(iter(protected), None)
        before = behind if first is None else self._blocks[first]
        for demoted in reversed(moved):
            if demoted.next_free_block is not before:  # seldom: the lowest mostly stand first
                move(demoted, before)
            before = demoted


class WindowOrder(ComputeCacheWindow):
    """The rule ``window``. It holds no block: its queue is vLLM's list, of which it reads the head."""

    by_session = False
    is_aged_by_caching = True
    hit_blocks: Container[BlockId] = ()  # the window protects nothing beforehand
    protected_blocks = allocated_blocks = 0

    def __init__(self, pool: Pool, settings: Settings) -> None:
        super().__init__(pool.num_gpu_blocks - 1, scan_limit=settings.scan_limit, weights=settings.weights)
        self._pool = pool
        self.demoted_blocks = 0

    def keep(self, blocks: Sequence[CachedBlock]) -> bool:  # noqa: ARG002 - none is given to it
        """It holds none."""
        return False

    def front(self) -> tuple[BlockId | None, float]:
        """Nothing is protected; it looks at the head before every allocation."""
        return None, 0

    def use(self, blocks: Sequence[BlockId], hit: Sequence[BlockId]) -> bool:  # noqa: ARG002 - it holds none
        """Blocks are hit, in this order; whether any was held. Mutates; O(len(hit))."""
        self._uses.hit_in_turn(hit)
        return False

    def lose(self, block: BlockId) -> bool:
        """``forget`` it; it is not held. O(1)."""
        self.forget(block)
        return False

    def on_allocate(self, new_blocks: int, blank_blocks: int = 0) -> None:  # noqa: ARG002 - the list tells
        """Move the victims-to-be to the head, behind the blank blocks there.

        Raises ``PinnedError`` if somebody uses one of them.
        """
        pool, blank = self._pool, 0
        window: list[CachedBlock] = []
        for block in islice(free_blocks(pool.free_block_queue), self._scan_limit):
            if block.block_id in pool._reuse_watchers:
                break  # behind them stand watched ones only
            if block._block_hash is None:
                blank += 1
            else:
                window.append(cached_block(block, pool.hash_block_size))
        if not window or new_blocks <= blank:
            return
        head = pool.blocks[window[0].id]
        for lowest in reversed(self.lowest(new_blocks - blank, window)):
            moved = _unpinned(pool.blocks[lowest.id])
            if moved is not head:
                move(moved, before=head)
                self.demoted_blocks += 1
            head = moved


class Order(Protocol):
    """What a ``Keeper`` tells and asks, blocks by their ids."""

    allocated_blocks: int

    @property
    def by_session(self) -> bool:
        """Whether it is CacheWise's, not one of ComputeCache's two rules."""

    @property
    def is_aged_by_caching(self) -> bool:
        """Whether it hears of ``on_cache``, and of all blocks that are taken."""

    @property
    def hit_blocks(self) -> Container[int]:
        """Blocks that are given to it when they are freed; the others are not its own."""

    @property
    def protected_blocks(self) -> int:
        """How many it keeps behind the others."""

    @property
    def scanned_blocks(self) -> int:
        """How many it has looked at, ever."""

    @property
    def demoted_blocks(self) -> int:
        """How many it has moved, ever."""

    def front(self) -> tuple[BlockId | None, float]:
        """Before which block those are freed that are not its own, None for the end of the list.

        And the ``allocated_blocks`` before which ``on_allocate`` need not be called. Both are valid until a
        block is protected, or no longer.
        """

    def on_allocate(self, new_blocks: int, blank_blocks: int) -> None:
        """Move blocks of vLLM's list before so many are taken from its head."""

    def on_cache(self, block: CachedBlock) -> None:
        """A block in use got its hash."""

    def keep(self, blocks: Sequence[CachedBlock]) -> bool:
        """Freed blocks are its own from here on; whether ``front`` may say something else now."""

    def use(self, blocks: Sequence[BlockId], hit: Sequence[BlockId]) -> bool:
        """Let go of blocks that are used, ``hit`` those with content; whether one was protected."""

    def count_hit(self, block: BlockId) -> None:
        """A block with content, in use, is hit."""

    def take(self, block: BlockId) -> bool:
        """Let go of a block that leaves the list; whether it was held."""

    def forget(self, block: BlockId) -> None:
        """The content of a block is lost."""

    def lose(self, block: BlockId) -> bool:
        """A block is taken from the head of the list and its content lost; whether it was protected."""

    def on_reset(self) -> object:
        """All content is lost."""


MakeOrder = Callable[[Pool, Settings], Order]


def make_order(pool: Pool, settings: Settings) -> Order:
    """The policy of ``settings.rule`` over the blocks of one pool."""
    return BoundaryOrder(pool, settings) if settings.rule == "boundary" else WindowOrder(pool, settings)


def cached_block(block: Block, block_tokens: int) -> CachedBlock:
    """A block as the policies know it: by its id and its depth."""
    return CachedBlock(block.block_id, NO_HASH, (block._block_hash_num_tokens or 0) // block_tokens)


def _unpinned(block: Block) -> Block:
    if block.ref_cnt:
        raise PinnedError(f"block {block.block_id} in the free list has {block.ref_cnt} references")
    return block
