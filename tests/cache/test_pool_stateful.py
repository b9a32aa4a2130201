"""Random streams against the pool: every invariant after each step, and a brute-force model beside it."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from keepwarm.cache.pool import BlockPool
from keepwarm.policies.base import BlockHash, BlockId
from keepwarm.policies.lru import Lru


@dataclass
class BruteForce:
    """One list of free blocks, nothing indexed, every question answered by looking at everything."""

    queue: list[int]
    users: dict[int, int] = field(default_factory=dict)
    cached: list[tuple[int, int]] = field(default_factory=list)  # (hash, block), oldest first

    def lookup(self, prefix: list[int]) -> list[int]:
        found: list[int] = []
        for wanted in prefix:
            blocks = [block for block_hash, block in self.cached if block_hash == wanted]
            if not blocks:
                break
            found.append(blocks[0])
        return found

    def allocate(self, hits: list[int], new: int) -> tuple[list[int], list[int]] | None:
        queue = [block for block in self.queue if block not in hits]
        if new > len(queue):
            return None
        taken, self.queue = queue[:new], queue[new:]
        evicted = [block_hash for block in taken for block_hash, owner in self.cached if owner == block]
        self.cached = [entry for entry in self.cached if entry[1] not in taken]
        for block in [*hits, *taken]:
            self.users[block] = self.users.get(block, 0) + 1
        return [*hits, *taken], evicted

    def free(self, blocks: list[int]) -> None:
        for block in blocks:
            self.users[block] -= 1
        let_go = [block for block in reversed(blocks) if self.users[block] == 0]
        hashed = {block for _, block in self.cached}
        blank = [block for block in let_go if block not in hashed]
        self.queue = blank + self.queue + [block for block in let_go if block in hashed]

    def reset(self) -> bool:
        if any(self.users.values()):
            return False
        self.cached = []
        return True


def chained(contents: list[int]) -> list[BlockHash]:
    """Stand-ins for prefix hashes: the contents read as digits."""
    prefix, result = 1, []
    for content in contents:
        prefix = prefix * 3 + content
        result.append(BlockHash(prefix))
    return result


class PoolMachine(RuleBasedStateMachine):
    running = Bundle("running")

    @initialize(capacity_blocks=st.integers(1, 12))
    def start(self, capacity_blocks: int) -> None:
        self.pool = BlockPool(capacity_blocks, Lru(capacity_blocks))
        self.model = BruteForce(list(range(1, capacity_blocks + 1)))
        self.tables: dict[int, list[BlockId]] = {}
        self.started = 0

    @rule(
        target=running,
        contents=st.lists(st.integers(0, 2), max_size=6),
        blank_blocks=st.integers(0, 2),
        most_hits=st.integers(0, 6),
        uncached=st.integers(0, 2),
    )
    def admit(self, contents: list[int], blank_blocks: int, most_hits: int, uncached: int) -> int:
        prefix = chained(contents)
        hits = self.pool.lookup(prefix[:most_hits])
        assert hits == self.model.lookup(prefix[:most_hits])
        new = len(prefix) + blank_blocks - len(hits)
        expected = self.model.allocate(hits, new)
        assert self.pool.fits(hits, new) == (expected is not None)
        self.started += 1
        if expected is None:
            return self.started
        blocks, evicted = self.pool.admit(prefix, hits, new)
        assert (blocks, list(evicted)) == expected
        scheduled = prefix[: max(len(hits), len(prefix) - uncached)]  # the rest waits for a later chunk
        self.pool.cache_full_blocks(blocks, scheduled, start=len(hits))
        self.model.cached += list(zip(scheduled, blocks, strict=False))[len(hits) :]
        self.tables[self.started] = blocks
        return self.started

    @rule(request=running, new=st.integers(1, 2))
    def grow(self, request: int, new: int) -> None:
        if request not in self.tables or not self.pool.fits([], new):
            return
        expected = self.model.allocate([], new)
        blocks, evicted = self.pool.allocate(new)
        assert (blocks, list(evicted)) == expected
        self.tables[request] = [*self.tables[request], *blocks]

    @rule(request=consumes(running))
    def finish(self, request: int) -> None:
        blocks = self.tables.pop(request, None)
        if blocks is not None:
            self.pool.free(blocks)
            self.model.free(blocks)

    @rule()
    def reset(self) -> None:
        assert self.pool.reset() == self.model.reset()

    @invariant()
    def holds_together(self) -> None:
        if hasattr(self, "pool"):
            self.pool.check_integrity(self.tables.values())
            assert self.pool.free_blocks == len(self.model.queue)

    def teardown(self) -> None:
        """Whatever was built up, all blocks come out in the model's order."""
        if hasattr(self, "pool"):
            assert self.pool.allocate(self.pool.free_blocks).blocks == self.model.queue


PoolMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestPool = PoolMachine.TestCase
