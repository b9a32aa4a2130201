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

_NO_HASH = BlockHash(0)  # ComputeCache knows blocks by their ids; only their depth is read


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

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        """All of them to the end of the protected part: others are not given to it."""
        added = {block.id: block for block in blocks}
        if len(added) != len(blocks) or not self._protected.keys().isdisjoint(added):
            raise ValueError(f"blocks freed twice: {blocks!r}")
        self._protected.update(added)

    def use(self, blocks: Sequence[BlockId], hit: Sequence[BlockId]) -> bool:
        """``take`` of each block, ``count_hit`` of each that is hit; whether any was held. O(len(blocks))."""
        protected, allocated_at_hit = self._protected, self._allocated_at_hit
        before = len(protected)
        if before:
            for block in blocks:
                protected.pop(block, None)
        self._uses.hit_in_turn(hit)
        for block in hit:
            allocated_at_hit[block] = self.allocated_blocks
        return len(protected) != before

    def demote(self, block: CachedBlock) -> None:
        """Raises ``PinnedError`` if somebody uses the block, ``LookupError`` if the list has lost it."""
        moved = _unpinned(self._blocks[block.id])
        self.take(block.id)
        self.demoted_blocks += 1
        first = self.first_protected
        if first is not None:
            move(moved, before=self._blocks[first.id])
        # Without a protected block left the demoted one was the last of them, and stands right already.


class WindowOrder(ComputeCacheWindow):
    """The rule ``window``. It holds no block: its queue is vLLM's list, of which it reads the head."""

    by_session = False
    is_aged_by_caching = True
    hit_blocks: Container[BlockId] = ()  # the window protects nothing beforehand
    first_protected = None
    protected_blocks = allocated_blocks = 0

    def __init__(self, pool: Pool, settings: Settings) -> None:
        super().__init__(pool.num_gpu_blocks - 1, scan_limit=settings.scan_limit, weights=settings.weights)
        self._pool = pool
        self.demoted_blocks = 0

    def quiet_until(self) -> float:
        """It looks at the head before every allocation."""
        return 0

    def use(self, blocks: Sequence[BlockId], hit: Sequence[BlockId]) -> bool:  # noqa: ARG002 - it holds none
        """Blocks are hit, in this order; whether any was held. Mutates; O(len(hit))."""
        self._uses.hit_in_turn(hit)
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
    def first_protected(self) -> CachedBlock | None:
        """Before which blocks are freed that are not its own; None for the end of the list."""

    @property
    def protected_blocks(self) -> int:
        """How many it keeps behind the others."""

    @property
    def scanned_blocks(self) -> int:
        """How many it has looked at, ever."""

    @property
    def demoted_blocks(self) -> int:
        """How many it has moved, ever."""

    def quiet_until(self) -> float:
        """The ``allocated_blocks`` before which ``on_allocate`` need not be called."""

    def on_allocate(self, new_blocks: int, blank_blocks: int) -> None:
        """Move blocks of vLLM's list before so many are taken from its head."""

    def on_cache(self, block: CachedBlock) -> None:
        """A block in use got its hash."""

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        """These are its own from here on."""

    def use(self, blocks: Sequence[BlockId], hit: Sequence[BlockId]) -> bool:
        """Let go of blocks that are used, ``hit`` those with content; whether one was protected."""

    def count_hit(self, block: BlockId) -> None:
        """A block with content, in use, is hit."""

    def take(self, block: BlockId) -> bool:
        """Let go of a block that leaves the list; whether it was held."""

    def forget(self, block: BlockId) -> None:
        """The content of a block is lost."""

    def on_reset(self) -> object:
        """All content is lost."""


MakeOrder = Callable[[Pool, Settings], Order]


def make_order(pool: Pool, settings: Settings) -> Order:
    """The policy of ``settings.rule`` over the blocks of one pool."""
    return BoundaryOrder(pool, settings) if settings.rule == "boundary" else WindowOrder(pool, settings)


def cached_block(block: Block, block_tokens: int) -> CachedBlock:
    """A block as the policies know it: by its id and its depth."""
    return CachedBlock(block.block_id, _NO_HASH, (block._block_hash_num_tokens or 0) // block_tokens)


def cached_blocks(blocks: Sequence[Block], block_tokens: int) -> list[CachedBlock]:
    """``cached_block`` of each, without a call for each."""
    return [
        CachedBlock(block.block_id, _NO_HASH, (block._block_hash_num_tokens or 0) // block_tokens)
        for block in blocks
    ]


def _unpinned(block: Block) -> Block:
    if block.ref_cnt:
        raise PinnedError(f"block {block.block_id} in the free list has {block.ref_cnt} references")
    return block
