"""The two policies of ``keepwarm.policies``, with each of their moves made in vLLM's list, too."""

from __future__ import annotations

from collections.abc import Sequence

from keepwarm.policies.base import CachedBlock
from keepwarm.policies.computecache import ComputeCache
from keepwarm.policies.computecache_window import ComputeCacheWindow
from keepwarm.vllm.faults import PinnedError
from keepwarm.vllm.settings import Settings
from keepwarm.vllm.stock import Block, move


class BoundaryOrder(ComputeCache):
    """The rule ``boundary``: a demotion moves one block to just before it."""

    def __init__(self, capacity_blocks: int, settings: Settings, blocks: Sequence[Block]) -> None:
        super().__init__(
            capacity_blocks,
            protected_share=settings.protected_share,
            stale_turnovers=settings.stale_turnovers,
            least_stale_blocks=settings.least_stale_blocks,
            scan_limit=settings.scan_limit,
            weights=settings.weights,
        )
        self._blocks = blocks
        self.demoted_blocks = 0

    def demote(self, block: CachedBlock) -> None:
        """Raises ``PinnedError`` if somebody uses the block, ``LookupError`` if the list has lost it."""
        moved = _unpinned(self._blocks[block.id])
        super().demote(block)
        self.demoted_blocks += 1
        first = self.first_protected
        if first is not None:
            move(moved, before=self._blocks[first.id])
        # Without a protected block left the demoted one was the last of them, and stands right already.


class WindowOrder(ComputeCacheWindow):
    """The rule ``window``: victims-to-be move to the head, behind the blank blocks."""

    first_protected = None
    protected_blocks = 0

    def __init__(self, capacity_blocks: int, settings: Settings, blocks: Sequence[Block]) -> None:
        super().__init__(capacity_blocks, scan_limit=settings.scan_limit, weights=settings.weights)
        self._blocks = blocks
        self.demoted_blocks = 0

    def protects(self, block: CachedBlock) -> bool:  # noqa: ARG002 - the window protects nothing beforehand
        """Every freed block joins the end of the list."""
        return False

    def bring_forward(self, block: CachedBlock) -> None:
        """Raises ``PinnedError`` if somebody uses the block, ``LookupError`` if the list has lost it."""
        moved, head = _unpinned(self._blocks[block.id]), self.first
        super().bring_forward(block)
        if head is not None and head.id != block.id:
            move(moved, before=self._blocks[head.id])
            self.demoted_blocks += 1


Order = BoundaryOrder | WindowOrder


def make_order(capacity_blocks: int, settings: Settings, blocks: Sequence[Block]) -> Order:
    """The policy of ``settings.rule`` over the blocks of one pool."""
    kind = BoundaryOrder if settings.rule == "boundary" else WindowOrder
    return kind(capacity_blocks, settings, blocks)


def _unpinned(block: Block) -> Block:
    if block.ref_cnt:
        raise PinnedError(f"block {block.block_id} in the free list has {block.ref_cnt} references")
    return block
