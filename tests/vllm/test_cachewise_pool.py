"""Random operations on vLLM's own ``BlockPool`` with CacheWise in it, each checked against an oracle.

The oracle keeps the free list as stock vLLM would, knows whose blocks are whose, and asks a policy of its own
for victims. Nothing pinned, null or used may be handed out, and no block be lost or listed twice.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from keepwarm.policies.base import BlockHash, BlockId, CachedBlock
from keepwarm.policies.cachewise import CacheWise
from keepwarm.policies.sessions import ReuseRank, SessionId, Tier
from keepwarm.vllm.session_order import SessionOrder
from keepwarm.vllm.settings import Settings
from tests.vllm.cachewise import PATIENT
from tests.vllm.pool_driver import Driver, Prompt
from tests.vllm.pool_oracle import Oracle
from tests.vllm.test_pool_random import CAPACITIES, OPERATIONS, STREAM_OPERATIONS, random_operation

SESSIONS = 12


class Moods:
    """Ranks that change now and then; who serves none is no session."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._ranks: dict[SessionId, ReuseRank] = {}

    def change(self) -> None:
        for number in self._rng.sample(range(SESSIONS), 3):
            tier = self._rng.choice(list(Tier))
            self._ranks[SessionId(str(number))] = ReuseRank(tier, self._rng.choice([0.0, 1.0, 5.0, 1e9]))

    def rank(self, session: SessionId) -> ReuseRank:
        return self._ranks.get(session, ReuseRank(Tier.TOOL, 0.0))


class SessionOracle(Oracle):
    """Free cached blocks in the order in which they were freed; ``policy`` hears what it has to hear."""

    def __init__(self, capacity_blocks: int, policy: CacheWise) -> None:
        self.policy = policy
        self.contents: dict[int, CachedBlock] = {}
        super().__init__(capacity_blocks, PATIENT._replace(rule="window"))

    def hit(self, block: int, *, was_free: bool) -> None:
        is_held = block in self.probation
        super().hit(block, was_free=was_free)
        self.policy.on_hit(self.contents[block], was_free=is_held)

    def cache(self, block: int, depth_blocks: int) -> None:
        super().cache(block, depth_blocks)
        content = CachedBlock(BlockId(block), BlockHash(0), depth_blocks)
        if self.contents.get(block) != content:
            self.contents[block] = content
            self.policy.on_cache(content)

    def free(self, blocks: Iterable[int], hashed: Iterable[bool]) -> None:
        blocks = list(blocks)
        super().free(blocks, hashed)
        freed = [self.contents[block] for block in blocks if block in self.probation]
        if freed:
            self.policy.on_free(freed)

    def evict(self, block: int) -> None:
        if block in self.probation:
            self.policy.on_hit(self.contents[block], was_free=True)
        super().evict(block)

    def _rank_window(self, victims: int) -> None:
        named = []
        for _ in range(min(victims, len(self.policy))):
            named.append(self.policy.pop_victim())
            self.policy.on_evict(named[-1])
            del self.contents[named[-1].id]
        for victim in reversed(named):
            self.probation.move_to_end(victim.id, last=False)

    def _forget(self, block: int) -> None:
        super()._forget(block)
        content = self.contents.pop(block, None)
        if content is not None:
            self.policy.on_evict(content)

    def _forget_all(self) -> None:
        super()._forget_all()
        self.contents.clear()
        self.policy.on_reset()


class SessionDriver(Driver):
    """Each family of prompts is a session; the pool is called on behalf of one at a time."""

    def __init__(self, capacity_blocks: int, seed: int, *, block_hashes: int) -> None:
        self.moods = Moods(seed)
        self.policies = [CacheWise(capacity_blocks, self.moods) for _ in range(2)]

        def order(pool: Any, settings: Settings) -> SessionOrder:
            return SessionOrder(pool, self.policies[0], SessionId, settings.decision_budget_us)

        super().__init__(
            capacity_blocks,
            PATIENT,
            block_hashes=block_hashes,
            make_order=order,
            oracle=SessionOracle(capacity_blocks, self.policies[1]),
        )

    def begin_step(self) -> None:
        self.moods.change()
        for policy in self.policies:
            policy.begin_step()

    def admit(self, prompt: Prompt, length: int) -> None:
        self._serve(prompt)
        super().admit(prompt, length)

    def grow(self, index: int, count: int) -> None:
        self._serve_table(index)
        super().grow(index, count)

    def cache(self, index: int, count: int) -> None:
        self._serve_table(index)
        super().cache(index, count)

    def free(self, index: int) -> None:
        self._serve_table(index)
        super().free(index)

    def _take(self, count: int, admitted: Any) -> list[Any]:
        moved = self.counters.get("demoted_blocks")
        blocks = super()._take(count, admitted)
        assert self.counters.get("demoted_blocks") - moved <= count
        return blocks

    def _serve_table(self, index: int) -> None:
        if self.tables:
            self._serve(self.tables[index % len(self.tables)].prompt)

    def _serve(self, prompt: Prompt) -> None:
        session = str(prompt.branch % SESSIONS)
        self.pool.computecache.keeper.policy.request = SimpleNamespace(request_id=session)
        self.policies[1].serve(SessionId(session))

    def check(self) -> None:
        super().check()
        assert list(self.policies[0]) == list(self.policies[1])
        assert sorted(self.policies[0]) == sorted(self.oracle.probation)


def stream(seed: int) -> Counter[str]:
    """Every second stream has partial blocks."""
    rng = random.Random(seed)
    capacity_blocks = rng.choice(CAPACITIES)
    driver = SessionDriver(capacity_blocks, seed, block_hashes=1 + 2 * (seed % 2))
    longest = max(2, min(24, capacity_blocks // 2))
    families, running, special = rng.choice([1, 3, 10]), rng.choice([1, 4, 16]), rng.choice([0.02, 0.2])
    next_check = 0
    try:
        while (done := sum(driver.counts[operation] for operation in OPERATIONS)) < STREAM_OPERATIONS:
            if rng.random() < 0.3:
                driver.begin_step()
            random_operation(rng, driver, longest, families, running, special)
            if done >= next_check:
                driver.check()
                next_check = done + max(20, capacity_blocks)
        driver.check()
    except AssertionError as difference:
        raise AssertionError(f"seed {seed}, {capacity_blocks} blocks") from difference
    driver.counts["reordered decisions"] = driver.counters.get("reordered_decisions")
    driver.counts["moved blocks"] = driver.counters.get("demoted_blocks")
    return driver.counts


def compare(first_seed: int, operations: int) -> Counter[str]:
    """Streams of consecutive seeds until so many operations were compared; all kinds have to be there."""
    counts: Counter[str] = Counter()
    while (total := sum(counts[operation] for operation in OPERATIONS)) < operations:
        counts += stream(first_seed)
        first_seed += 1
    for operation in OPERATIONS:
        assert counts[operation] > total / 5000, operation
    for event in ("hit blocks", "reordered decisions", "moved blocks", "watched reused", "full checks"):
        assert counts[event] > total / 1000, event
    return counts


def test_every_victim_is_the_policys(totals: Counter[str]) -> None:
    counts = compare(10_000_000, 60_000)
    totals["pool operations"] += sum(counts[operation] for operation in OPERATIONS)


def test_an_order_that_does_not_know_whom_it_serves_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SessionOrder, "_serve", lambda order: None)
    with pytest.raises(AssertionError, match="seed"):
        compare(10_000_000, 60_000)


@pytest.mark.long
def test_every_victim_is_the_policys_for_longer(totals: Counter[str]) -> None:
    counts = compare(11_000_000, 1_000_000)
    totals["pool operations"] += sum(counts[operation] for operation in OPERATIONS)
