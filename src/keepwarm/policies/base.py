"""What a victim order is: the policy decides which already-free block is reused next.

A block pool tells the policy what happens to cached blocks, and asks it for victims. Blocks without
a hash hold nothing worth keeping; the pool reuses them first and the policy never holds them.
Standard library only: the same classes run in the reference pool and inside a serving process.

One admission calls, in this order: ``on_admit``; ``on_hit`` for each block hit; ``on_allocate`` and then
``pop_victim`` and ``on_evict`` for each victim; ``on_cache`` for each block that got its hash. While the
request decodes, ``on_allocate`` to ``on_cache`` repeat for one block at a time; ``on_free`` ends it.

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
    depth_blocks: int  # length of the prefix that ends with it; equal for equal hashes


class VictimOrder(abc.ABC):
    """The free cached blocks of one pool, in the order in which they would be reused.

    A block enters by ``on_free`` and leaves by ``on_hit``, ``pop_victim`` or ``on_reset``. Holding
    every block exactly once is the policy's duty; which of them comes first is its choice.
    ``capacity_blocks`` are the usable blocks of the pool, in use or free.
    """

    name: ClassVar[str]  # as given on the command line

    def __init__(self, capacity_blocks: int) -> None:
        self.capacity_blocks = capacity_blocks

    def on_admit(self, asked: Sequence[BlockHash]) -> None:  # noqa: B027 - most policies only hear of hits
        """A request is admitted; ``asked`` are the hashes it could hit, first block first.

        Comes once per request, before its hits, and with an empty ``asked`` if it does not look up.
        May mutate; O(len(asked)), or times a logarithm; never raises.
        """

    def on_allocate(self, new_blocks: int, blank_blocks: int) -> None:  # noqa: B027 - few policies prepare
        """``new_blocks`` > 0 blocks are about to be handed out; ``blank_blocks`` without hash go first.

        So ``max(0, new_blocks - blank_blocks)`` victims will be asked for, and the order may be changed
        before the first of them. May mutate; bounded work; never raises.
        """

    def on_cache(self, block: CachedBlock) -> None:  # noqa: B027 - most policies start at the first free
        """A block in use got its hash: its content may be hit from now on. May mutate; O(1); never raises."""

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
