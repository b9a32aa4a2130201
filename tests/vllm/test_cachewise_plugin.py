"""``KEEPWARM_EVICTION`` in processes of their own: what it replaces, which setting wins, what it shows."""

from __future__ import annotations

import pytest

from tests.vllm.test_plugin import ACTIVE, COUNTING, STOCK, Run, run, warnings  # noqa: F401 - run is a fixture

MANAGED = """
from vllm.v1.core.kv_cache_manager import KVCacheManager
import torch
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
def manager(blocks=8, caching=True):
    spec = FullAttentionSpec(block_size=16, num_kv_heads=1, head_size=1, dtype=torch.float32)
    config = KVCacheConfig(blocks, [], [KVCacheGroupSpec(["layer"], spec)])
    return KVCacheManager(
        config, max_model_len=64, scheduler_block_size=16, hash_block_size=16, enable_caching=caching
    )
def order(pool):
    keeper = getattr(getattr(pool, "computecache", None), "keeper", None)
    return type(keeper.policy).__name__ if keeper else None
"""
LOOK = (
    MANAGED
    + """
register()
made = manager()
tell(classes=classes(made.block_pool), manager=type(made).__name__, order=order(made.block_pool))
"""
)
BY_SESSION = ["CacheWiseManager", "SessionOrder"]


@pytest.mark.parametrize(
    ("settings", "classes", "managed"),
    [
        ({"KEEPWARM_EVICTION": "cachewise"}, ACTIVE, BY_SESSION),
        ({"KEEPWARM_EVICTION": " CacheWise "}, ACTIVE, BY_SESSION),
        ({"KEEPWARM_EVICTION": "computecache"}, ACTIVE, ["KVCacheManager", "BoundaryOrder"]),
        ({"KEEPWARM_EVICTION": "lru"}, COUNTING, ["KVCacheManager", None]),
        ({"KEEPWARM_EVICTION": "clairvoyant"}, COUNTING, ["KVCacheManager", None]),
        ({"KEEPWARM_EVICTION": "cachewise", "COMPUTECACHE_MODE": "active"}, ACTIVE, BY_SESSION),
        ({"KEEPWARM_EVICTION": "cachewise", "COMPUTECACHE_MODE": "lru"}, COUNTING, ["KVCacheManager", None]),
        ({"KEEPWARM_EVICTION": "lru", "COMPUTECACHE_MODE": "active"}, COUNTING, ["KVCacheManager", None]),
        ({"KEEPWARM_SCHEDULING": "fcfs"}, STOCK, ["KVCacheManager", None]),
    ],
    ids=str,
)
def test_which_setting_wins(
    run: Run,  # noqa: F811
    settings: dict[str, str],
    classes: list[str],
    managed: list[str | None],
) -> None:
    told = run(LOOK, **settings)
    assert told["classes"] == classes
    assert [told["manager"], told["order"]] == managed


def test_a_manager_without_prefix_caching_is_left_alone(run: Run) -> None:  # noqa: F811
    told = run(
        MANAGED + "register()\nmade = manager(caching=False)\n"
        "tell(classes=classes(made.block_pool), manager=type(made).__name__)\n",
        KEEPWARM_EVICTION="cachewise",
    )
    assert told["classes"] == STOCK
    assert told["manager"] == "KVCacheManager"


MISMATCHES = {
    "a method that another plugin replaced": (
        "stock = KVCacheManager.free\nKVCacheManager.free = lambda self, request: stock(self, request)\n"
    ),
    "another version": 'import vllm; vllm.__version__ = "0.33.0"\n',
}


@pytest.mark.parametrize("change", MISMATCHES.values(), ids=MISMATCHES)
def test_what_is_not_vllm_0_32_0_is_left_alone(run: Run, change: str) -> None:  # noqa: F811
    told = run(MANAGED + change + LOOK.removeprefix(MANAGED), KEEPWARM_EVICTION="cachewise")
    assert told["classes"] == STOCK
    assert told["manager"] == "KVCacheManager"
    assert any("stock LRU" in line for line in warnings(told))


METRICS = (
    MANAGED
    + """
from types import SimpleNamespace
from pathlib import Path
register()
made = manager()
pool = made.block_pool
blocks = pool.get_new_blocks(7)
request = SimpleNamespace(block_hashes=[b"%d" % at for at in range(7)], num_prompt_tokens=112)
pool.cache_full_blocks(request, blocks, 0, 7, 16, 0)
pool.free_blocks(blocks[:3])
pool.free_blocks(blocks[:2:-1])
pool.get_new_blocks(2)
pool.computecache._counters.publish()
from prometheus_client import REGISTRY, generate_latest
page = generate_latest(REGISTRY).decode()
from keepwarm.vllm.serving.state import engine_state
state = engine_state()
for _ in range(40):
    state.faults.note("sessions", "on purpose")
put_away = classes(pool)
tell(page=[line for line in page.splitlines() if line.startswith(("keepwarm_eviction", "computecache"))],
     put_away=put_away)
"""
)


def test_it_is_counted_under_its_own_name_and_put_away_with_the_sessions(run: Run) -> None:  # noqa: F811
    told = run(METRICS, KEEPWARM_EVICTION="cachewise")
    shown = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in told["page"]}
    assert not [name for name in shown if name.startswith("computecache")]
    assert shown["keepwarm_eviction_decisions_total"] == 2
    assert shown['keepwarm_eviction_evicted_blocks_total{class="never_hit"}'] == 2
    assert shown['keepwarm_eviction_evicted_blocks_total{class="unhashed"}'] == 7
    assert shown['keepwarm_eviction_effective{eviction="cachewise"}'] == 1
    assert shown["keepwarm_eviction_decision_seconds_count"] == 2
    assert shown["keepwarm_eviction_tripped"] == 0
    assert told["put_away"] == ["ComputeCachePool", "FreeKVCacheBlockQueue"]
    (line,) = [line for level, line in told["lines"] if level == "INFO"]
    assert line.startswith("CacheWise: eviction=cachewise log_every=256 ")
