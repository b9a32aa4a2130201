"""CacheWise inside vLLM's own block pool does what it does in the cache model: same victims, same blocks.

On one side vLLM's scheduler in our class with the policy attached to its pool, on the other the model's
engine with the same policy. Sessions, hints on them and the clock are the same on both sides.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable
from itertools import takewhile

import pytest

from keepwarm._errors import KeepwarmError
from keepwarm.cache.pool import BlockPool
from keepwarm.policies.cachewise import CacheWise
from keepwarm.policies.sessions import SessionId
from keepwarm.scheduling.orders import ORDERS
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.serving.base import ServerConfig
from keepwarm.serving.engine import Engine
from keepwarm.vllm.counters import FAULT_KINDS, private_counters
from tests.vllm import streams
from tests.vllm.cachewise import CacheWiseServer, Foretold, say_something
from tests.vllm.lockstep import Lockstep
from tests.vllm.real import Call

STREAM_REQUESTS = (50, 100, 200)  # by seed, in turn
SCHEDULINGS = ("fcfs", "cachewise", "fcfs", "active-set")  # likewise
QUICK_SEED, LONG_SEED = 8_000_000, 9_000_000


class CacheWiseLockstep(Lockstep):
    """vLLM with the plugin beside the engine with the policy; ``seed`` says who the sessions are."""

    def __init__(self, config: ServerConfig, seed: int) -> None:
        order = SCHEDULINGS[seed % len(SCHEDULINGS)]
        if order != "fcfs":
            config = config._replace(long_prefill_tokens=0)
        super().__init__(config)
        self.rng = random.Random(seed)
        self.sessions = self.rng.choice([1, 3, 8, 40])
        self.plugin = private_counters()
        self.table = SessionTable(Foretold())
        self.policy = CacheWise(config.capacity_blocks, self.table)
        pool = BlockPool(config.capacity_blocks, self.policy)
        self.model = Engine(config, pool, ORDERS[order], sessions=self.table)
        self.ours = CacheWiseServer(config, self.plugin, scheduling=order)
        self.ours.state.clock = lambda: self.now_s
        self.real = self.ours
        self.resets = 0

    def add(self, call: Call) -> None:
        named = sum(call.prompt[:3]) + (self.rng.random() < 0.1)
        super().add(call._replace(session=f"session {named % self.sessions}"))

    def step(self) -> bool:
        self.now_s += self.rng.choice([0.0, 0.1, 1.0, 30.0])
        if self.rng.random() < 0.2:
            session = SessionId(f"session {self.rng.randrange(self.sessions)}")
            say_something(self.rng, [self.table, self.ours.state.table], session, self.now_s)
        return super().step()

    def _compare_free(self) -> None:
        """Blank blocks first, the others in whatever order; the policies would give them up alike."""
        theirs = [self.real.pool.blocks[block] for block in self.real.free_order()]
        blank = [block.block_id for block in takewhile(lambda block: block.block_hash is None, theirs)]
        order = list(self.ours.order.policy)
        if (
            self.counts["resets"] > self.resets
        ):  # the one thing left open: how blocks lie that a reset emptied
            self.resets += 1
            self._same("free blocks after a reset", sorted(blank), sorted(self.model.pool.free_order()))
            self.model.pool._blank = deque(blank)
        self._same("free queue", self.model.pool.free_order(), blank + order)
        self._same("free blocks", sorted(order), sorted(block.block_id for block in theirs[len(blank) :]))

    def finish(self) -> None:
        """What the plugin counted is what happened, and nothing went wrong inside it."""
        plugin, counts = self.plugin, self.counts
        self._same("faults", [], [kind for kind in FAULT_KINDS if plugin.get(f"fault_{kind}")])
        self._same("ranks that failed", 0, self.policy.rank_faults)
        self._same(
            "evicted", counts["evictions"], plugin.get("evicted_hit") + plugin.get("evicted_never_hit")
        )
        counts["reordered decisions"] += plugin.get("reordered_decisions")
        counts["moved blocks"] += plugin.get("demoted_blocks")


def compare(first_seed: int, requests: int, patch: pytest.MonkeyPatch) -> Counter[str]:
    """Streams of consecutive seeds until ``requests`` are compared."""
    counts: Counter[str] = Counter()
    seed = first_seed
    while counts["requests"] < requests:
        patch.setattr(streams, "Lockstep", lambda config, given=seed: CacheWiseLockstep(config, given))
        try:
            both = streams.play(seed, STREAM_REQUESTS[seed % len(STREAM_REQUESTS)])
            assert isinstance(both, CacheWiseLockstep)
            both.finish()
        except (AssertionError, KeepwarmError) as difference:
            pytest.fail(f"seed {seed}: {difference}", pytrace=False)
        counts += both.counts
        seed += 1
    return counts


def check_that_all_happened(counts: Counter[str]) -> None:
    """Streams in which the policy never chose would prove nothing."""
    least = {"hit tokens": 20_000, "evictions": 5000, "preemptions": 20, "aborts": 10, "resets": 1}
    least |= {"reordered decisions": 500, "moved blocks": 1000}
    for event, few in least.items():
        assert counts[event] >= few, event


def test_victims_are_the_models(totals: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    counts = compare(QUICK_SEED, 10_000, monkeypatch)
    totals.update(counts)
    check_that_all_happened(counts)


@pytest.mark.long
def test_victims_are_the_models_for_longer(totals: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    counts = compare(LONG_SEED, 200_000, monkeypatch)
    totals.update(counts)
    check_that_all_happened(counts)


def read_ranks_later(policy: CacheWise) -> None:
    policy._n_rebuild += 1


def forget_who_is_served(policy: CacheWise) -> None:
    policy.serve = lambda session: None  # type: ignore[method-assign]


def believe_nothing(policy: CacheWise) -> None:
    policy.ranks = SessionTable(Foretold())


@pytest.mark.parametrize("mistake", [read_ranks_later, forget_who_is_served, believe_nothing])
def test_a_mistake_is_found(mistake: Callable[[CacheWise], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison is worth something: a policy that differs a little is found."""
    right = CacheWiseLockstep.__init__

    def wrong(self: CacheWiseLockstep, config: ServerConfig, seed: int) -> None:
        right(self, config, seed)
        mistake(self.ours.order.policy)

    monkeypatch.setattr(CacheWiseLockstep, "__init__", wrong)
    with pytest.raises(pytest.fail.Exception, match="differ"):
        compare(QUICK_SEED, 10_000, monkeypatch)
