"""Replay a trace through the cache model: one request after another, each freed before the next.

That is what an idle server would have done, without queueing and without requests side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.cache.holders import block_holders
from keepwarm.cache.pool import BlockPool
from keepwarm.policies.base import BlockHash, VictimOrder
from keepwarm.policies.lru import Lru
from keepwarm.trace.hashes import BlockHashes


class CacheRequest(NamedTuple):
    """What the cache sees of a request.

    ``blocks`` are the hashes of its known full blocks from the start: those of the prompt and, where
    the answer's tokens are known, of the answer. Full blocks beyond them take space and never match.
    ``skip_reads``: the engine stores the blocks but does not look them up (``prompt_logprobs``).
    """

    blocks: BlockHashes
    prompt_tokens: int
    output_tokens: int = 0
    skip_reads: bool = False

    def computed_tokens(self) -> int:
        """Tokens whose KV exists in the end: all but the last sampled one."""
        return self.prompt_tokens + max(0, self.output_tokens - 1)


class ReplayRow(NamedTuple):
    """What happened to one request.

    ``evicted`` are the hashes removed to make room for it, oldest victim first; negative ones stood for
    output blocks of unknown content. ``too_large``: the prompt exceeds the capacity, so the server
    would never have admitted it; it hits nothing and leaves the cache as it was.
    """

    prompt_tokens: int
    hit_tokens: int
    evicted: tuple[BlockHash, ...] = ()
    too_large: bool = False

    @property
    def evicted_blocks(self) -> int:
        """Number of hashes removed."""
        return len(self.evicted)


def replay(
    requests: Iterable[CacheRequest],
    *,
    block_size: int,
    capacity_blocks: int | None,
    policy: Callable[[], VictimOrder] = Lru,
) -> list[ReplayRow]:
    """Hits and evictions of each request, in order.

    ``capacity_blocks`` counts usable blocks; ``None`` is unbounded. Where nothing can be evicted
    ``policy`` has no say and the answer comes from array operations. A hit is whole blocks and
    leaves at least the prompt's last token to compute. An answer that would outgrow the capacity
    ends there, as a server's longest sequence never exceeds its cache.

    Raises:
        InputError: ``block_size`` or ``capacity_blocks`` is not positive.
        IntegrityError: the pool's invariants do not hold afterwards.
    """
    if block_size < 1:
        raise InputError(f"block size {block_size!r} is not positive; give the server's, say 16")
    requests = list(requests)
    most_blocks = sum(-(-request.computed_tokens() // block_size) for request in requests)
    if capacity_blocks is None or capacity_blocks >= max(1, most_blocks):  # nothing is ever evicted
        return _replay_unbounded(requests, block_size)
    pool = BlockPool(capacity_blocks, policy())
    unknown = count(-1, -1)  # hashes that nothing else has: real ones are not negative
    rows = [_replay_one(request, pool, block_size, unknown) for request in requests]
    pool.check_integrity()
    return rows


def _replay_one(request: CacheRequest, pool: BlockPool, block_size: int, unknown: Iterator[int]) -> ReplayRow:
    if -(-request.prompt_tokens // block_size) > pool.capacity_blocks:
        return ReplayRow(request.prompt_tokens, 0, too_large=True)
    tokens = min(request.computed_tokens(), pool.capacity_blocks * block_size)
    full_blocks = tokens // block_size
    hashes: list[BlockHash] = request.blocks[:full_blocks].tolist()
    hits = [] if request.skip_reads else pool.lookup(hashes[: _most_hit_blocks(request, block_size)])
    blocks, evicted = pool.allocate(hits, -(-tokens // block_size) - len(hits))
    hashes.extend(map(BlockHash, islice(unknown, full_blocks - len(hashes))))
    pool.cache_full_blocks(blocks, hashes, start=len(hits))
    pool.free(blocks)
    return ReplayRow(request.prompt_tokens, len(hits) * block_size, evicted)


def _most_hit_blocks(request: CacheRequest, block_size: int) -> int:
    return max(0, request.prompt_tokens - 1) // block_size


def _replay_unbounded(requests: list[CacheRequest], block_size: int) -> list[ReplayRow]:
    stored = [request.blocks[: request.computed_tokens() // block_size] for request in requests]
    shared = block_holders(stored).shared_blocks().tolist()
    rows: list[ReplayRow] = []
    for request, shared_blocks in zip(requests, shared, strict=True):
        hit_blocks = 0 if request.skip_reads else min(shared_blocks, _most_hit_blocks(request, block_size))
        rows.append(ReplayRow(request.prompt_tokens, hit_blocks * block_size))
    return rows
