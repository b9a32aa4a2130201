"""What a victim order is: the policy decides which already-free block is reused next.

A block pool calls the policy on four occasions: a request let go of blocks, a look-up hit a block,
room is needed, the cache was emptied. Blocks without a hash hold nothing worth keeping; the
pool reuses them first and the policy never sees them. Standard library only: the same classes run
in the reference pool and inside a serving process.

To add one, copy ``lru.py``, register it in ``__init__.py``; the conformance suite does the rest.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple, NewType

BlockId = NewType("BlockId", int)  # index of a block's memory, 0 is the null block
BlockHash = NewType("BlockHash", int)  # stands for the whole prefix that ends with the block


class CachedBlock(NamedTuple):
    """A full block whose content a later request may hit."""

    id: BlockId
    hash: BlockHash


class VictimOrder(abc.ABC):
    """The free cached blocks of one pool, in the order in which they would be reused.

    A block enters by ``on_free`` and leaves by ``on_hit``, ``pop_victim`` or ``on_reset``. Holding
    every block exactly once is the policy's duty; which of them comes first is its choice.
    """

    name: ClassVar[str]  # as given on the command line

    @abc.abstractmethod
    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        """Take over blocks that one request let go and nobody uses. Mutates.

        They come tail of the prompt first. Cost: O(len(blocks)), or times the logarithm of what
        is held. ``ValueError`` if a block is held already; nothing is taken then.
        """

    @abc.abstractmethod
    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        """A request is about to use a cached block. Mutates.

        If ``was_free``, the block is held and leaves the order; else another request is using it
        and this is news only. Cost: O(1), or the logarithm of what is held. ``KeyError``
        if ``was_free`` and the block is not held.
        """

    @abc.abstractmethod
    def pop_victim(self) -> CachedBlock:
        """Give up the block to be reused next. Mutates.

        The caller owns the result. Cost: O(1), or the logarithm of what is held; never a scan of the
        whole order. ``LookupError`` if none is held.
        """

    def on_evict(self, block: CachedBlock) -> None:  # noqa: B027 - most policies need no memory of victims
        """The content of a block just popped is lost. May mutate (history only); O(1); never raises."""

    @abc.abstractmethod
    def on_reset(self) -> list[BlockId]:
        """Forget everything, history too; return the blocks held, next victim first. Mutates.

        The caller owns the result. Cost: O(held), or times its logarithm. Never raises.
        """

    @abc.abstractmethod
    def __iter__(self) -> Iterator[BlockId]:
        """Blocks held, next victim first. Does not mutate; valid until the next mutating call.

        For checks and tests: may cost O(held), or times its logarithm.
        """

    @abc.abstractmethod
    def __len__(self) -> int:
        """Number of blocks held. Does not mutate. O(1)."""
