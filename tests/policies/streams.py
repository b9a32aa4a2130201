"""Random legal events for a policy: straight at it, and through a block pool as a server makes them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from keepwarm.cache.pool import BlockPool
from keepwarm.policies.base import BlockHash, BlockId, CachedBlock, VictimOrder
from keepwarm.policies.sessions import SessionId, SessionVictimOrder

CAPACITY_BLOCKS = 20
HIT = -1


def block(block_id: int, block_hash: int | None = None) -> CachedBlock:
    return CachedBlock(BlockId(block_id), BlockHash(block_id if block_hash is None else block_hash), 1)


def drive(policy: VictimOrder, seed: int, steps: int = 60) -> tuple[set[int], list[int]]:
    """Call the policy without a pool; returns the blocks that must be held now, and every victim so far.

    Blocks are freed that the policy never heard of, and hits come for blocks that it never held.
    """
    rng = random.Random(seed)
    held: dict[int, CachedBlock] = {}
    victims: list[int] = []
    for step in range(steps):
        serve(policy, step)
        action = rng.random()
        if action < 0.45:
            outside = [block_id for block_id in range(1, CAPACITY_BLOCKS) if block_id not in held]
            freed = [
                block(i, rng.randrange(8)) for i in rng.sample(outside, rng.randint(0, len(outside) // 2))
            ]
            for each in freed:
                if rng.random() < 0.3:
                    policy.on_cache(each)
            policy.on_free(freed)
            held.update((each.id, each) for each in freed)
        elif action < 0.6 and held:
            policy.on_admit([BlockHash(rng.randrange(8)) for _ in range(rng.randrange(4))])
            policy.on_hit(held.pop(rng.choice(sorted(held))), was_free=True)
        elif action < 0.75:
            policy.on_hit(block(99, rng.randrange(8)), was_free=False)
        elif action < 0.97 and held:
            victims += take_victims(policy, held, rng)
        elif action >= 0.97:
            assert sorted(policy.on_reset()) == sorted(held)
            held.clear()
        assert len(policy) == len(held)
    return set(held), victims


def take_victims(policy: VictimOrder, held: dict[int, CachedBlock], rng: random.Random) -> Iterator[int]:
    wanted, blank = rng.randint(1, len(held)), rng.randrange(3)
    policy.on_allocate(wanted + blank, blank)
    for _ in range(wanted):
        victim = policy.pop_victim()
        assert held.pop(victim.id) == victim
        policy.on_evict(victim)
        yield victim.id


def serve(policy: VictimOrder, number: int) -> None:
    """On behalf of one of five sessions, if the policy cares; a step of the engine begins."""
    if isinstance(policy, SessionVictimOrder):
        policy.begin_step()
        policy.serve(SessionId(f"session {number % 5}"))


class Served(NamedTuple):
    """What a pool gave to one request, or to one step of its answer."""

    hit_blocks: int
    blocks: tuple[BlockId, ...]
    evicted: tuple[BlockHash, ...]


@dataclass
class Running:
    contents: list[int]  # one a block that is, or will be, full
    table: list[BlockId]
    cached: int  # blocks that have their hash
    session: int


@dataclass
class Server:
    """Requests side by side on one pool: prefill in chunks, twins, answers that grow, blocks of no hash.

    Prefixes are numbered as they appear; ``rename`` maps such a number, injectively, to the hash.
    """

    policy: VictimOrder
    rename: Callable[[int], int] = int
    running: list[Running] = field(default_factory=list)
    numbers: dict[tuple[int, ...], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pool = BlockPool(self.policy.capacity_blocks, self.policy)

    def run(self, seed: int, steps: int = 80) -> list[Served]:
        """One random step after another, invariants checked after each."""
        rng = random.Random(seed)
        journal: list[Served] = []
        for _ in range(steps):
            action = rng.random()
            if action < 0.4 or not self.running:
                journal += self.admit(rng)
            elif action < 0.65:
                journal += self.decode(rng.choice(self.running), rng)
            elif action < 0.99:
                self.finish(rng.choice(self.running))
            else:
                assert self.pool.reset() == (not self.running)
            self.pool.check_integrity(request.table for request in self.running)
        return journal

    def serve(self, request: Running) -> None:
        """Sessions share what stands before the last block of their first prompt."""
        serve(self.policy, request.session)

    def admit(self, rng: random.Random) -> list[Served]:
        """Admit a request if it fits; low contents are the likeliest, so prefixes are shared."""
        most = max(1, self.pool.capacity_blocks // 2)
        contents = [min(rng.randrange(7), rng.randrange(7)) for _ in range(rng.randint(1, most))]
        asked = self.hashes(contents) if rng.random() < 0.9 else []
        hits = self.pool.lookup(asked)
        new_blocks = len(contents) + rng.randrange(2) - len(hits)
        if not self.pool.fits(hits, new_blocks):
            return []
        request = Running(contents, [], len(hits), session=contents[-1])
        self.serve(request)
        request.table, evicted = self.pool.admit(asked, hits, new_blocks)
        self.running.append(request)
        self.store(request, rng.randint(len(hits), len(contents)))  # the first chunk
        return [Served(len(hits), tuple(request.table), evicted)]

    def decode(self, request: Running, rng: random.Random) -> list[Served]:
        """Store what is computed by now, and take one block more if there is one."""
        self.serve(request)
        self.store(request, len(request.contents))
        if not self.pool.fits([], 1):
            return []
        (new,), evicted = self.pool.allocate(1)
        request.table.append(new)
        if len(request.table) > len(request.contents) + 1:
            is_new = rng.random() < 0.5
            request.contents.append(1000 + len(self.numbers) if is_new else rng.randrange(7))
        return [Served(0, (new,), evicted)]

    def store(self, request: Running, full: int) -> None:
        hashes = self.hashes(request.contents[:full])
        self.pool.cache_full_blocks(request.table, hashes, start=request.cached)
        request.cached = max(full, request.cached)

    def finish(self, request: Running) -> None:
        self.running.remove(request)
        self.serve(request)
        self.pool.free(request.table)

    def finish_all(self) -> None:
        for request in list(self.running):
            self.finish(request)

    def hashes(self, contents: list[int]) -> list[BlockHash]:
        prefixes = (tuple(contents[: i + 1]) for i in range(len(contents)))
        return [BlockHash(self.rename(self.numbers.setdefault(p, len(self.numbers)))) for p in prefixes]


def skewed(seed: int, capacity: int, length: int = 400) -> list[int]:
    """Accesses to contents of which the first few are asked for most, and that drift."""
    rng = random.Random(seed)
    spread = capacity * rng.choice([1.2, 2, 4])
    return [int(spread * rng.random() ** 3) + i // 50 for i in range(length)]


def single_blocks(policy: VictimOrder, accesses: Sequence[int]) -> list[int | None]:
    """The cache of the papers: one block at a time, let go at once. Of each access the content evicted.

    ``HIT`` for a hit, ``None`` for a miss that found a blank block.
    """
    cached: dict[int, CachedBlock] = {}
    outcomes: list[int | None] = []
    for content in accesses:
        policy.on_admit([BlockHash(content)])
        if content in cached:
            policy.on_hit(cached[content], was_free=True)
            policy.on_free([cached[content]])
            outcomes.append(HIT)
            continue
        blank = policy.capacity_blocks - len(cached)
        policy.on_allocate(1, blank)
        block_id, evicted = BlockId(len(cached) + 1), None
        if not blank:
            victim = policy.pop_victim()
            policy.on_evict(victim)
            del cached[victim.hash]
            block_id, evicted = victim.id, victim.hash
        cached[content] = CachedBlock(block_id, BlockHash(content), 1)
        policy.on_cache(cached[content])
        policy.on_free([cached[content]])
        outcomes.append(evicted)
    return outcomes
