"""The policy inside vLLM's own block pool does what the cache model does: same victims, same free list.

On one side vLLM's scheduler with the plugin attached to its pool, on the other the model's engine with the
policy of the same settings. ``Lockstep`` compares the free list, all of it and in order, after every step.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from keepwarm._errors import KeepwarmError
from keepwarm.cache.pool import BlockPool
from keepwarm.policies.computecache import ComputeCache
from keepwarm.policies.computecache_window import ComputeCacheWindow
from keepwarm.policies.keep_value import KeepWeights
from keepwarm.serving.base import ServerConfig
from keepwarm.serving.engine import Engine
from keepwarm.vllm.counters import FAULT_KINDS, private_counters
from keepwarm.vllm.pool import attach
from keepwarm.vllm.settings import Rule, Settings
from tests.vllm import streams
from tests.vllm.lockstep import Lockstep

STREAM_REQUESTS = (50, 100, 200)  # by seed, in turn
QUICK_SEED, LONG_SEED = 3_000_000, 4_000_000
NEVER_US = 10**9  # a busy machine must not turn a slow decision into a fault


def random_settings(rng: random.Random, rule: Rule) -> Settings:
    """Shares, limits and weights at which a small pool demotes: for the share, and what is stale."""
    return Settings(
        mode="active",
        rule=rule,
        scan_limit=rng.choice([1, 2, 4, 16, 64]),
        weights=KeepWeights(
            reuse=rng.choice([0, 1, 64]),
            depth=rng.choice([0, 1, 8]),
            age=rng.choice([0, 1, 16]),
            quick_demote_penalty=rng.choice([0, 4096]),
        ),
        protected_share=rng.choice([0.0, 0.1, 0.4, 0.4, 1.0]),
        stale_turnovers=rng.choice([0.0, 0.5, 2.0, 16.0]),
        least_stale_blocks=rng.choice([0, 0, 16, 16_384]),
        decision_budget_us=NEVER_US,
    )


def model_policy(capacity_blocks: int, settings: Settings) -> ComputeCache | ComputeCacheWindow:
    if settings.rule == "window":
        return ComputeCacheWindow(capacity_blocks, scan_limit=settings.scan_limit, weights=settings.weights)
    return ComputeCache(
        capacity_blocks,
        protected_share=settings.protected_share,
        stale_turnovers=settings.stale_turnovers,
        least_stale_blocks=settings.least_stale_blocks,
        scan_limit=settings.scan_limit,
        weights=settings.weights,
    )


class ActiveLockstep(Lockstep):
    """vLLM with the plugin in ``active`` beside the engine with the policy."""

    def __init__(self, config: ServerConfig, settings: Settings) -> None:
        super().__init__(config)
        self.plugin = private_counters()
        self.policy = model_policy(config.capacity_blocks, settings)
        self.model = Engine(config, BlockPool(config.capacity_blocks, self.policy))
        attach(self.real.pool, settings, self.plugin)

    def finish(self) -> None:
        """What the plugin counted is what happened, and nothing went wrong inside it."""
        plugin, counts = self.plugin, self.counts
        self._same("faults", [], [kind for kind in FAULT_KINDS if plugin.get(f"fault_{kind}")])
        evicted = plugin.get("evicted_hit") + plugin.get("evicted_never_hit")
        self._same("evicted", counts["evictions"], evicted)
        self._same("scanned", self.policy.scanned_blocks, plugin.get("scanned_blocks"))
        counts["reordered decisions"] += plugin.get("reordered_decisions")
        counts["demoted blocks"] += plugin.get("demoted_blocks")
        counts["decisions"] += plugin.get("decisions")


def compare(rule: Rule, first_seed: int, requests: int, patch: pytest.MonkeyPatch) -> Counter[str]:
    """Streams of consecutive seeds, each with settings of its own, until ``requests`` are compared."""
    counts: Counter[str] = Counter()
    seed = first_seed
    while counts["requests"] < requests:
        settings = random_settings(random.Random(seed), rule)
        patch.setattr(streams, "Lockstep", lambda config, given=settings: ActiveLockstep(config, given))
        try:
            both = streams.play(seed, STREAM_REQUESTS[seed % len(STREAM_REQUESTS)])
            assert isinstance(both, ActiveLockstep)
            both.finish()
        except (AssertionError, KeepwarmError) as difference:
            pytest.fail(f"seed {seed}, {settings.line()}: {difference}", pytrace=False)
        counts += both.counts
        seed += 1
    return counts


def check_that_all_happened(counts: Counter[str]) -> None:
    """Streams in which the policy never chose would prove nothing."""
    least = {"hit tokens": 20_000, "evictions": 5000, "preemptions": 20, "aborts": 10, "resets": 1}
    least |= {"reordered decisions": 500, "demoted blocks": 500}
    for event, few in least.items():
        assert counts[event] >= few, event


@pytest.mark.parametrize("rule", ["boundary", "window"])
def test_the_list_is_the_models(rule: Rule, totals: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    counts = compare(rule, QUICK_SEED, 20_000, monkeypatch)
    totals.update(counts)
    check_that_all_happened(counts)


@pytest.mark.long
@pytest.mark.parametrize("rule", ["boundary", "window"])
def test_the_list_is_the_models_for_longer(
    rule: Rule, totals: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = compare(rule, LONG_SEED, 200_000, monkeypatch)
    totals.update(counts)
    check_that_all_happened(counts)


def scan_one_more(settings: Settings) -> Settings:
    return settings._replace(scan_limit=settings.scan_limit + 1)


def protect_more(settings: Settings) -> Settings:
    return settings._replace(protected_share=min(1.0, settings.protected_share + 0.2))


def weigh_depth_more(settings: Settings) -> Settings:
    return settings._replace(weights=settings.weights._replace(depth=settings.weights.depth + 4))


MISTAKES: list[tuple[Rule, Callable[[Settings], Settings]]] = [
    ("boundary", scan_one_more),
    ("boundary", protect_more),
    ("boundary", weigh_depth_more),
    ("window", scan_one_more),
    ("window", weigh_depth_more),
]


@pytest.mark.parametrize(("rule", "mistake"), MISTAKES)
def test_a_mistake_is_found(
    rule: Rule, mistake: Callable[[Settings], Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison is worth something: another setting in the model than in the plugin is found."""
    right = model_policy
    monkeypatch.setattr(f"{__name__}.model_policy", lambda blocks, given: right(blocks, mistake(given)))
    with pytest.raises(pytest.fail.Exception, match="differ"):
        compare(rule, QUICK_SEED, 20_000, monkeypatch)
