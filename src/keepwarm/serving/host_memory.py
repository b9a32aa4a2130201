"""A tier of host memory behind the cache: what is evicted goes there, and is read back instead of computed.

- Every evicted block is copied out; that overlaps with computing and costs nothing. The tier holds a set
  number of blocks, least recently used first out; a block that is read back stays.
- An admission looks up the cache, then the tier for what follows. Blocks found there take cache blocks like
  computed ones, are cached at once, and lengthen the step that admits by the time the link needs for them:
  loading is not overlapped.
- For queue orders a block in the tier is as good as cached.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from itertools import islice, takewhile

from keepwarm.policies.base import BlockHash, BlockId, VictimOrder
from keepwarm.scheduling.base import QueueOrder
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.serving.base import RequestState, ServerConfig, StepResult
from keepwarm.serving.glide import GlidingEngine
from keepwarm.serving.pool import ServingPool


class HostMemory:
    """Contents by hash, least recently used first."""

    def __init__(self, capacity_blocks: int) -> None:
        self._capacity_blocks = capacity_blocks
        self._held: OrderedDict[BlockHash, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, block_hash: object) -> bool:
        return block_hash in self._held

    def put(self, hashes: Sequence[BlockHash]) -> None:
        """Copied out, the last one at the end. Mutates."""
        for block_hash in hashes:
            self._held[block_hash] = None
            self._held.move_to_end(block_hash)
        while len(self._held) > self._capacity_blocks:
            self._held.popitem(last=False)

    def leading(self, hashes: Sequence[BlockHash], start: int) -> int:
        """How many of ``hashes[start:]`` it holds before the first it does not. Does not mutate."""
        return sum(1 for _ in takewhile(self._held.__contains__, islice(hashes, start, None)))

    def use(self, hashes: Sequence[BlockHash]) -> None:
        """They are read. Mutates; KeyError if one is not there."""
        for block_hash in hashes:
            self._held.move_to_end(block_hash)


class TieredPool(ServingPool):
    """A pool in front of host memory."""

    def __init__(self, capacity_blocks: int, policy: VictimOrder, host: HostMemory) -> None:
        super().__init__(capacity_blocks, policy)
        self.host = host

    def is_cached(self, block_hash: Hashable) -> bool:
        """Or in host memory."""
        return super().is_cached(block_hash) or block_hash in self.host

    def fill(self, state: RequestState, start: int, end: int) -> None:
        """Give blocks of a request the content read from host memory: nothing is computed. Mutates."""
        recomputed_blocks = self.recomputed_blocks
        self.cache_full_blocks(state.table, state.blocks[:end], start)
        self.recomputed_blocks = recomputed_blocks

    def _evict_many(self, victims: int, fresh: list[BlockId]) -> tuple[BlockHash, ...]:
        evicted = super()._evict_many(victims, fresh)
        self.host.put(evicted)
        return evicted


class TieredEngine(GlidingEngine):
    """Reads blocks back from host memory where it can."""

    pool: TieredPool

    def __init__(
        self,
        config: ServerConfig,
        pool: TieredPool,
        order: type[QueueOrder[RequestState]],
        sessions: SessionTable,
        reload_s_per_block: float,
    ) -> None:
        super().__init__(config, pool, order, sessions)
        self._reload_s_per_block = reload_s_per_block
        self._loading_blocks = 0  # in this step

    def take_reload_s(self) -> float:
        """Seconds by which reading lengthens the step that was done last. Mutates: they are told once."""
        blocks, self._loading_blocks = self._loading_blocks, 0
        return blocks * self._reload_s_per_block

    def _admit(self, state: RequestState, most_tokens: int, result: StepResult) -> int:
        """As the engine's, what host memory holds behind the hits being found too."""
        asked = state.lookup_blocks
        hits = self.pool.lookup(asked)
        found_blocks = len(hits) + self.pool.host.leading(asked, len(hits))
        if found_blocks == len(hits):
            return super()._admit(state, most_tokens, result)
        block_size = self.config.block_size
        spare_blocks = self.config.watermark_blocks if self.running else 0
        known_blocks = -(-state.known_tokens // block_size)
        if not self.pool.fits(hits, known_blocks - len(hits) + spare_blocks):
            return 0
        tokens = min(state.known_tokens - found_blocks * block_size, most_tokens)
        new_blocks = -(-(found_blocks * block_size + tokens) // block_size) - len(hits)
        self._serve(state)
        self.pool.host.use(asked[len(hits) : found_blocks])
        state.table, evicted = self.pool.admit(asked, hits, new_blocks, resumed=state.preemptions > 0)
        self.pool.fill(state, len(hits), found_blocks)
        result.evicted += evicted
        self._loading_blocks += found_blocks - len(hits)
        self.reloaded_blocks += found_blocks - len(hits)
        result.reloaded_tokens[state.request.id] = (found_blocks - len(hits)) * block_size
        if not state.request.skip_reads:
            self.lookups.count(state, len(hits) * block_size)
        self._start(state, found_blocks, tokens, result)
        return tokens
