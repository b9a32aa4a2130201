"""Random operations on vLLM's own block pool with the policy in it: every decision is the rule's."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace

import pytest
from vllm.v1.core.block_pool import BlockPool
from vllm.v1.core.kv_cache_utils import KVCacheBlock

from keepwarm.policies.computecache import ComputeCache
from keepwarm.policies.computecache_window import ComputeCacheWindow
from keepwarm.policies.keep_value import KEEP_WEIGHTS, KeepWeights
from keepwarm.vllm.counters import private_counters
from keepwarm.vllm.pool import attach
from keepwarm.vllm.settings import Rule, Settings
from tests.vllm.pool_driver import HASH_TOKENS, Driver, Prompt

CAPACITIES = (1, 2, 3, 7, 16, 16, 60, 60, 250, 1000, 8191)
STREAM_OPERATIONS = 2500
NEVER_US = 10**9  # a busy machine must not turn a slow decision into a fault
OPERATIONS = (
    "touch",
    "get_new_blocks",
    "cache_full_blocks",
    "free_blocks",
    "unpin_blocks",
    "evict_blocks",
    "reset_prefix_cache",
    "cache_partial_block",
    "move_block_hashes",
)


def settings(rng: random.Random, rule: Rule) -> Settings:
    weights = KeepWeights(rng.choice([0, 64]), rng.choice([0, 1, 8]), rng.choice([0, 1, 16]), 4096)
    return Settings(
        mode="active",
        rule=rule,
        scan_limit=rng.choice([1, 2, 4, 4, 64]),
        weights=rng.choice([KEEP_WEIGHTS, weights]),
        protected_share=rng.choice([0.0, 0.1, 0.4, 0.4, 1.0]),
        stale_turnovers=rng.choice([0.0, 0.5, 2.0, 16.0]),
        least_stale_blocks=rng.choice([0, 0, 16, 16_384]),
        decision_budget_us=NEVER_US,
    )


def reference(capacity_blocks: int, given: Settings) -> ComputeCache | ComputeCacheWindow:
    if given.rule == "window":
        return ComputeCacheWindow(capacity_blocks, scan_limit=given.scan_limit, weights=given.weights)
    return ComputeCache(
        capacity_blocks,
        protected_share=given.protected_share,
        stale_turnovers=given.stale_turnovers,
        least_stale_blocks=given.least_stale_blocks,
        scan_limit=given.scan_limit,
        weights=given.weights,
    )


def stream(seed: int, rule: Rule) -> Counter[str]:
    """Every third stream is one that the reference pool can follow, every third has partial blocks."""
    rng = random.Random(seed)
    capacity_blocks, given = rng.choice(CAPACITIES), settings(rng, rule)
    kind = ("reference", "full", "partial")[seed % 3]
    driver = Driver(
        capacity_blocks,
        given,
        block_hashes=3 if kind == "partial" else 1,
        reference=reference(capacity_blocks, given) if kind == "reference" else None,
    )
    longest = max(2, min(24, capacity_blocks // 2))
    families = rng.choice([1, 3, 10])
    running = rng.choice([1, 4, 16])
    special = 0.0 if kind == "reference" else rng.choice([0.02, 0.2])
    full_check_operations = max(20, capacity_blocks)
    next_check = 0
    try:
        while (done := sum(driver.counts[operation] for operation in OPERATIONS)) < STREAM_OPERATIONS:
            random_operation(rng, driver, longest, families, running, special)
            if done >= next_check:
                driver.check()
                next_check = done + full_check_operations
        driver.check()
    except AssertionError as difference:
        raise AssertionError(f"seed {seed}, {capacity_blocks} blocks, {kind}, {given.line()}") from difference
    driver.counts["demotions"] = driver.oracle.demotions
    driver.counts["reordered decisions"] = driver.counters.get("reordered_decisions")
    driver.counts["reference streams"] = kind == "reference"
    return driver.counts


def random_operation(
    rng: random.Random, driver: Driver, longest: int, families: int, running: int, special: float
) -> None:
    """One that a server does, or with the chance ``special`` one that only few do."""
    if rng.random() < special:
        _special(rng, driver, longest)
    else:
        _serve(rng, driver, longest, families, running)


def _serve(rng: random.Random, driver: Driver, longest: int, families: int, running: int) -> None:
    """What a server does: requests come, grow, get their blocks cached and end."""
    index = rng.randrange(1 << 20)
    choice = rng.random()
    if len(driver.tables) >= running or choice < 0.25:
        driver.free(index)
    elif choice < 0.6:
        prompt = Prompt(rng.randrange(families), rng.randrange(1 << 30), rng.choice([0, 1, 3, 8, 8]))
        driver.admit(prompt, rng.randint(1, longest))
        driver.cache(len(driver.tables) - 1, longest)
    elif choice < 0.7:
        driver.grow(index, rng.choice([0, 1, 1, 2, longest]))
    elif choice < 0.995:
        driver.cache(index, rng.choice([1, 2, longest]))
    else:
        if rng.random() < 0.5:
            while driver.tables:
                driver.free(0)
        driver.reset()


def _special(rng: random.Random, driver: Driver, longest: int) -> None:
    """What connectors, invalid blocks and partial hits do."""
    index = rng.randrange(1 << 20)
    choice = rng.randrange(4)
    if choice == 0:
        driver.unpin(index, rng.randint(0, longest))
    elif choice == 1:
        driver.evict({rng.randrange(1 << 20) for _ in range(rng.choice([0, 1, 1, 3]))})
    elif choice == 2:
        driver.partial(index, rng.randrange(4), replace=rng.random() < 0.2)
    else:
        driver.move(index)


def compare(rule: Rule, first_seed: int, operations: int) -> Counter[str]:
    """Streams of consecutive seeds until so many operations were compared."""
    counts: Counter[str] = Counter()
    while sum(counts[operation] for operation in OPERATIONS) < operations:
        counts += stream(first_seed, rule)
        first_seed += 1
    _check_that_all_happened(rule, counts)
    return counts


def _check_that_all_happened(rule: Rule, counts: Counter[str]) -> None:
    """Operations after which the policy had nothing to choose would prove nothing."""
    total = sum(counts[operation] for operation in OPERATIONS)
    for operation in OPERATIONS:
        assert counts[operation] > total / 5000, operation
    for event in ("hit blocks", "reordered decisions", "watched reused", "full checks"):
        assert counts[event] > total / 1000, event
    assert counts["reference streams"] > 5
    assert (counts["demotions"] > total / 100) == (rule == "boundary")


@pytest.mark.parametrize("rule", ["boundary", "window"])
def test_every_decision_is_the_rules(rule: Rule, totals: Counter[str]) -> None:
    counts = compare(rule, 6_000_000, 100_000)
    totals["pool operations"] += sum(counts[operation] for operation in OPERATIONS)


@pytest.mark.long
@pytest.mark.parametrize("rule", ["boundary", "window"])
def test_every_decision_is_the_rules_for_longer(rule: Rule, totals: Counter[str]) -> None:
    counts = compare(rule, 7_000_000, 1_000_000)
    totals["pool operations"] += sum(counts[operation] for operation in OPERATIONS)


def test_content_that_moved_to_another_block_leaves_no_hits_behind() -> None:
    """A block whose hashes were given to another holds nothing: used again, it was never hit."""
    pool, counters = BlockPool(5, True, HASH_TOKENS), private_counters()
    attach(pool, Settings(mode="active", decision_budget_us=NEVER_US), counters)
    (block,) = pool.get_new_blocks(1)
    _cache(pool, block, b"first")
    pool.touch([block])
    (copy,) = pool.get_new_blocks(1)
    pool.move_block_hashes(block, copy)
    pool.free_blocks([block])
    pool.free_blocks([block])
    assert pool.get_new_blocks(1) == [block]
    _cache(pool, block, b"second")
    pool.free_blocks([block])
    assert counters.get("protected_blocks") == 0


def _cache(pool: BlockPool, block: KVCacheBlock, block_hash: bytes) -> None:
    pool.cache_full_blocks(SimpleNamespace(block_hashes=[block_hash]), [block], 0, 1, HASH_TOKENS, 0)
