"""Replay a trace through the cache model: one request after another, each freed before the next.

That is what an idle server would have done, without queueing and without requests side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.cache.pool import BlockPool
from keepwarm.cache.prefix_tree import PrefixTree
from keepwarm.policies import POLICIES, SESSION_POLICIES
from keepwarm.policies.base import BlockHash, BlockId, VictimOrder
from keepwarm.policies.belady import Belady
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

    def stored_blocks(self, block_size: int) -> BlockHashes:
        """The known hashes under which it stores blocks, where the capacity does not cut its answer."""
        return self.blocks[: self.computed_tokens() // block_size]


class ReplayRow(NamedTuple):
    """What happened to one request.

    ``evicted`` are the hashes removed to make room for it, oldest victim first; negative ones stood for
    output blocks of unknown content. ``too_large``: the prompt exceeds the capacity, so the server
    would never have admitted it; it hits nothing and leaves the cache as it was. ``requested_again_blocks``
    are those it asked for that had been cached and were evicted since.
    """

    prompt_tokens: int
    hit_tokens: int
    evicted: tuple[BlockHash, ...] = ()
    too_large: bool = False
    requested_again_blocks: int = 0

    @property
    def evicted_blocks(self) -> int:
        """Number of hashes removed."""
        return len(self.evicted)


def replay(
    requests: Iterable[CacheRequest],
    *,
    block_size: int,
    capacity_blocks: int | None,
    policy: Callable[[int], VictimOrder] = Lru,
    match_unit_blocks: int = 1,
    ignore_output: bool = False,
) -> list[ReplayRow]:
    """Hits and evictions of each request, in order.

    ``capacity_blocks`` counts usable blocks; ``None`` is unbounded. Where nothing can be evicted
    ``policy``, called with the capacity, has no say and the answer comes from array operations. A hit is
    a whole number of match units and leaves at least the prompt's last token to compute. An answer that
    would outgrow the capacity ends there, as a server's longest sequence never exceeds its cache;
    ``ignore_output`` leaves answers out altogether, as if each request ended with its prompt.

    Raises:
        InputError: ``block_size``, ``match_unit_blocks`` or ``capacity_blocks`` is not positive.
        IntegrityError: the pool's invariants do not hold afterwards.
    """
    if block_size < 1:
        raise InputError(f"block size {block_size!r} is not positive; give the server's, say 16")
    if match_unit_blocks < 1:
        raise InputError(f"match unit of {match_unit_blocks!r} blocks is not positive; 1 is the usual one")
    requests = [request._replace(output_tokens=0) if ignore_output else request for request in requests]
    return list(replayed(requests, block_size, capacity_blocks, policy, match_unit_blocks))


def replayed(
    requests: Sequence[CacheRequest],
    block_size: int,
    capacity_blocks: int | None,
    policy: Callable[[int], VictimOrder] = Lru,
    match_unit_blocks: int = 1,
) -> Iterator[ReplayRow]:
    """``replay``, a request at a time: for sequences that make their requests when they are asked for."""
    most_blocks = 0
    if capacity_blocks is not None:
        most_blocks = sum(-(-request.computed_tokens() // block_size) for request in requests)
    if capacity_blocks is None or capacity_blocks >= max(1, most_blocks):  # nothing is ever evicted
        yield from _replay_unbounded(requests, block_size, match_unit_blocks)
        return
    pool = BlockPool(capacity_blocks, policy(capacity_blocks))
    replayer = _Replayer(pool, block_size, match_unit_blocks)
    yield from map(replayer.serve, requests)
    pool.check_integrity()


def is_too_large(request: CacheRequest, block_size: int, capacity_blocks: int) -> bool:
    """Whether the prompt alone exceeds the capacity: such a request is never admitted."""
    return -(-request.prompt_tokens // block_size) > capacity_blocks


def asked_blocks(request: CacheRequest, block_size: int) -> BlockHashes:
    """The hashes a request looks up: at least its last token is computed, so never the block of that."""
    return request.blocks[: 0 if request.skip_reads else _most_hit_blocks(request, block_size)]


def policy_for(
    name: str,
    requests: Sequence[CacheRequest],
    *,
    block_size: int,
    capacity_blocks: int,
    ignore_output: bool = False,
) -> Callable[[int], VictimOrder]:
    """What makes the policy of that name for a replay of ``requests``: ``belady`` is told what they will do.

    Raises InputError for an unknown name.
    """
    policy = POLICIES.get(name)
    if name in SESSION_POLICIES:
        raise InputError(f"policy {name!r} needs sessions, and a replay knows none; use the serving model")
    if policy is None:
        raise InputError(f"unknown policy {name!r}; known are {', '.join(POLICIES)}")
    if policy is not Belady:
        return policy
    served = [
        request._replace(output_tokens=0) if ignore_output else request
        for request in requests
        if not is_too_large(request, block_size, capacity_blocks)
    ]
    return partial(
        Belady,
        lookups=[asked_blocks(request, block_size).tolist() for request in served],
        stored=[request.stored_blocks(block_size)[:capacity_blocks].tolist() for request in served],
    )


class _Replayer:
    """One pool, and the requests that go through it one by one."""

    def __init__(self, pool: BlockPool, block_size: int, match_unit_blocks: int) -> None:
        self._pool = pool
        self._block_size = block_size
        self._match_unit_blocks = match_unit_blocks
        self._unknown = count(-1, -1)  # hashes that nothing else has: real ones are not negative
        self._ever_evicted: set[BlockHash] = set()

    def serve(self, request: CacheRequest) -> ReplayRow:
        """Admit, prefill, decode and free. The prompt is allocated at once, the answer block by block."""
        pool, block_size = self._pool, self._block_size
        if is_too_large(request, block_size, pool.capacity_blocks):
            return ReplayRow(request.prompt_tokens, 0, too_large=True)
        asked: list[BlockHash] = asked_blocks(request, block_size).tolist()
        hits = pool.lookup(asked)
        requested_again = sum(not pool.lookup([each]) for each in self._ever_evicted.intersection(asked))
        hits = hits[: len(hits) - len(hits) % self._match_unit_blocks]
        tokens = min(request.computed_tokens(), pool.capacity_blocks * block_size)
        hashes = self._hashes(request, tokens // block_size)
        prompt_blocks = -(-request.prompt_tokens // block_size)
        table, evicted = pool.admit(asked, hits, prompt_blocks - len(hits))
        cached = request.prompt_tokens // block_size
        pool.cache_full_blocks(table, hashes[:cached], start=len(hits))
        for _ in range(prompt_blocks, -(-tokens // block_size)):
            cached = self._cache_up_to(len(table), table, hashes, cached)
            more, victims = pool.allocate(1)
            table += more
            evicted += victims
        self._cache_up_to(len(hashes), table, hashes, cached)
        pool.free(table)
        self._ever_evicted.update(evicted)
        return ReplayRow(
            request.prompt_tokens, len(hits) * block_size, evicted, requested_again_blocks=requested_again
        )

    def _cache_up_to(self, full: int, table: list[BlockId], hashes: list[BlockHash], cached: int) -> int:
        self._pool.cache_full_blocks(table, hashes[:full], start=cached)
        return full

    def _hashes(self, request: CacheRequest, full_blocks: int) -> list[BlockHash]:
        """The known ones, and new ones for answer blocks of unknown content."""
        hashes: list[BlockHash] = request.blocks[:full_blocks].tolist()
        hashes.extend(map(BlockHash, islice(self._unknown, full_blocks - len(hashes))))
        return hashes


def _most_hit_blocks(request: CacheRequest, block_size: int) -> int:
    return max(0, request.prompt_tokens - 1) // block_size


def _replay_unbounded(
    requests: Sequence[CacheRequest], block_size: int, match_unit_blocks: int
) -> Iterator[ReplayRow]:
    tree = PrefixTree(lambda index: requests[index].stored_blocks(block_size))
    for index, request in enumerate(requests):
        held = tree.add(index, request.stored_blocks(block_size))
        shared_blocks = held[-1].end if held else 0
        hit_blocks = 0 if request.skip_reads else min(shared_blocks, _most_hit_blocks(request, block_size))
        hit_blocks -= hit_blocks % match_unit_blocks
        yield ReplayRow(request.prompt_tokens, hit_blocks * block_size)
