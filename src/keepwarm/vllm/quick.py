"""What the usual case of each hook reads and writes, in one object.

Between two hooks of a pool vLLM runs much else, so little of a hook is in the processor's caches when it is
called: each call within it, and each object it looks at, costs several times what it costs in a loop. The
subclasses in ``classes.py`` therefore do the usual case themselves, on what stands here, and call ``Hooks``
and ``Keeper`` for all else. Those two keep it up to date.
"""

from __future__ import annotations

from array import array
from math import ceil
from typing import Protocol

from keepwarm.vllm.counters import HIT, NEVER_HIT, UNHASHED
from keepwarm.vllm.requested import EvictedHashes
from keepwarm.vllm.stock import Block, Pool


class Clock(Protocol):
    """What counts the blocks taken: the policy, as the age of its blocks is told in them.

    It is behind by the blocks of the usual case, until somebody calls ``Quick.set_clock``.
    """

    allocated_blocks: int


class TakesVictims(Protocol):
    """``keepwarm.vllm.victims.Victims``."""

    def take(self, new_blocks: int, block: Block) -> None:
        """So many blocks are taken from ``block`` on, the head of the list. May raise."""

    def take_hit(self, block: Block) -> None:
        """One that was hit is taken, and is counted. May raise."""


class Turnover:
    """The clock without a policy."""

    __slots__ = ("allocated_blocks",)

    def __init__(self) -> None:
        self.allocated_blocks = 0


class Quick:
    """Of one pool.

    To take blocks is the usual case if it is one block, and some of ``left`` are left after it.
    """

    __slots__ = (
        "clock",
        "due_at",
        "freed_at",
        "head",
        "hears_of_answers",
        "idle_blocks",
        "left",
        "lost",
        "more_blocks",
        "protected_freed_at",
        "publish_at_s",
        "tail",
        "tick_at",
        "victims",
        "was_hit",
        "words",
    )

    def __init__(self, pool: Pool, words: list[int], lost: EvictedHashes) -> None:
        self.clock: Clock = Turnover()
        self.left = 0  # blocks, with the last of which something is to be decided or published
        self.due_at = 0  # on the clock, when none is left
        self.tick_at = 0  # on the clock, of which the next time to publish comes
        # What decoding fills nobody asked for; it is asked for when it comes back in a prompt.
        self.hears_of_answers = False
        self.more_blocks = 0  # than allocations, since these were counted
        self.victims: TakesVictims | None = None  # in place of ``take``, where a policy hears of them
        self.head = pool.free_block_queue.fake_free_list_head
        self.tail = pool.free_block_queue.fake_free_list_tail
        self.was_hit = bytearray(pool.num_gpu_blocks)  # by block
        self.words = words
        self.lost = lost
        self.freed_at = array("Q", bytes(8 * pool.num_gpu_blocks))  # by block: frees until then
        self.protected_freed_at = 0  # when the first protected block was freed; 0 if there is none
        self.idle_blocks = pool.num_gpu_blocks - 1  # all but the null block are free
        self.publish_at_s = 0.0

    def take(self, new_blocks: int, block: Block) -> None:
        """So many are taken from ``block`` on, the head of the list; no policy hears of it. May raise."""
        was_hit, recent, words = self.was_hit, self.lost.recent, self.words
        for _ in range(new_blocks):
            block_hash = block._block_hash
            if block_hash is None:
                words[UNHASHED] += 1
            else:
                recent[block_hash] = None
                if was_hit[block.block_id]:
                    was_hit[block.block_id] = 0
                    words[HIT] += 1
                else:
                    words[NEVER_HIT] += 1
            block = block.next_free_block

    def set_clock(self) -> int:
        """Bring it up to date, and say what it shows."""
        allocated_blocks = self.clock.allocated_blocks = self.due_at - self.left
        return allocated_blocks

    def plan(self, busy_at: float) -> None:
        """Blocks may be taken without a word as long as the clock, which is right, is before ``busy_at``."""
        allocated_blocks = self.clock.allocated_blocks
        self.due_at = max(ceil(min(busy_at, self.tick_at)), allocated_blocks)
        self.left = self.due_at - allocated_blocks
