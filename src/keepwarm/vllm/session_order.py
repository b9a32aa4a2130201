"""A victim order that knows sessions, over vLLM's own free list.

    [ no hash | the policy's blocks, as they were freed | watched ]
      the policy's victims come here, in its order, just before vLLM takes them

Blocks stay where stock vLLM puts them until they are victims. So what a decision that failed, or a policy
that was put away, leaves behind is a list in the order of stock LRU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

from keepwarm.policies.base import BlockId, CachedBlock
from keepwarm.policies.cachewise import CacheWise
from keepwarm.policies.sessions import SessionId
from keepwarm.vllm.faults import PinnedError
from keepwarm.vllm.orders import cached_block
from keepwarm.vllm.stock import Pool, move

_VICTIMS_BETWEEN_CLOCKS = 16
_NOBODY = SessionId("")


class RankError(Exception):
    """Ranks of sessions could not be had; the policy took them for unknown."""


class SessionOrder:
    """``policy`` over the blocks of one pool, as a ``Keeper`` asks and tells it.

    ``request`` is the one on whose behalf the pool is called, kept so by who calls it. ``session_of`` names
    the session of a request id, None if it knows none.
    """

    by_session = is_aged_by_caching = True
    protected_blocks = scanned_blocks = allocated_blocks = 0

    def __init__(
        self, pool: Pool, policy: CacheWise, session_of: Callable[[str], SessionId | None], budget_us: int
    ) -> None:
        self.policy = policy
        self.request: Any = None
        self._served: Any = None
        self._session_of = session_of
        self._budget_ns = budget_us * 1000
        self._queue = pool.free_block_queue
        self._blocks = pool.blocks
        self._block_tokens = pool.hash_block_size
        self.hit_blocks = range(pool.num_gpu_blocks)  # whatever is freed with a hash is the policy's
        self._contents: list[CachedBlock | None] = [None] * pool.num_gpu_blocks
        self._is_held = bytearray(pool.num_gpu_blocks)
        self._rank_faults = 0  # as noted
        self.demoted_blocks = 0

    def front(self) -> tuple[BlockId | None, float]:
        """Nothing is protected; it may have something to say before every allocation."""
        return None, 0

    def on_allocate(self, new_blocks: int, blank_blocks: int = 0) -> None:
        """Bring the victims to the head, behind the blank blocks there: one move each at most.

        Stops when its time is up. Raises ``PinnedError`` if somebody uses one of them, ``LookupError`` if the
        list has lost one, ``RankError``; what is named before stands at the head by then.
        """
        place, tail = self._queue.fake_free_list_head.next_free_block, self._queue.fake_free_list_tail
        blank_blocks = 0
        while blank_blocks < new_blocks and place._block_hash is None and place is not tail:
            place = place.next_free_block
            blank_blocks += 1
        self._serve()
        policy, blocks = self.policy, self._blocks
        give_up_ns = perf_counter_ns() + self._budget_ns
        for named in range(min(new_blocks - blank_blocks, len(policy))):
            if not (named + 1) % _VICTIMS_BETWEEN_CLOCKS and perf_counter_ns() > give_up_ns:
                break
            victim = policy.pop_victim()
            policy.on_evict(victim)
            self._is_held[victim.id] = 0
            self._contents[victim.id] = None
            block = blocks[victim.id]
            if block.ref_cnt:
                raise PinnedError(f"block {victim.id} in the free list has {block.ref_cnt} references")
            if block is place:
                place = place.next_free_block
            else:
                move(block, before=place)
                self.demoted_blocks += 1
        if policy.rank_faults != self._rank_faults:
            self._rank_faults = policy.rank_faults
            raise RankError("a session's time to reuse could not be read; it counts as unknown")

    def on_cache(self, block: CachedBlock) -> None:
        """A block of the request got its hash, or had it already. Mutates."""
        if self._blocks[block.id]._block_hash is not None and self._contents[block.id] != block:
            self._contents[block.id] = block
            self._serve()
            self.policy.on_cache(block)

    def keep(self, blocks: Sequence[CachedBlock]) -> bool:
        """These are free; none is protected. Mutates; ``ValueError`` if the policy holds one of them."""
        self._serve()
        self.policy.on_free(blocks)
        is_held, contents = self._is_held, self._contents
        for block in blocks:
            is_held[block.id] = 1
            contents[block.id] = block
        return False

    def use(self, blocks: Sequence[BlockId], hit: Sequence[BlockId]) -> bool:  # noqa: ARG002 - see below
        """The request uses blocks, free ones and others. Mutates; none of them was protected.

        What is held has content, so using it is a hit.
        """
        self._serve()
        policy, is_held, contents = self.policy, self._is_held, self._contents
        for block_id in hit:
            block = contents[block_id]
            if block is None:  # cached where nobody told
                block = contents[block_id] = cached_block(self._blocks[block_id], self._block_tokens)
            was_free, is_held[block_id] = bool(is_held[block_id]), 0
            policy.on_hit(block, was_free=was_free)
        return False

    def count_hit(self, block: BlockId) -> None:
        """As ``use`` of one. Mutates."""
        self.use((block,), (block,))

    def take(self, block: BlockId) -> bool:
        """Let go of a block that vLLM took or emptied by itself; False if it is not held. Mutates."""
        content, was_held = self._contents[block], self._is_held[block]
        self._is_held[block] = 0
        if content is None or not was_held:
            return False
        self.policy.on_hit(content, was_free=True)
        return True

    def forget(self, block: BlockId) -> None:
        """The content of a block that is not held is lost. Mutates."""
        content, self._contents[block] = self._contents[block], None
        if content is not None:
            self.policy.on_evict(content)

    def lose(self, block: BlockId) -> bool:
        """``take`` and ``forget``; none was protected. Mutates."""
        self.take(block)
        self.forget(block)
        return False

    def on_reset(self) -> None:
        """All content is lost. Mutates; O(blocks of the pool)."""
        self._contents = [None] * len(self._contents)
        self._is_held = bytearray(len(self._contents))
        self.policy.on_reset()

    def _serve(self) -> None:
        request = self.request
        if request is not self._served:  # the session of a request stays the same
            self.policy.serve(self._session_of(request.request_id) or _NOBODY)
            self._served = request
