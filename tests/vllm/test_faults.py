"""Whatever goes wrong in the policy, vLLM serves on, on its own list; faults are counted and logged once."""

from __future__ import annotations

import inspect
import logging
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from vllm.v1.core.block_pool import BlockPool
from vllm.v1.core.kv_cache_utils import FreeKVCacheBlockQueue

from keepwarm.serving.base import ServerConfig
from keepwarm.vllm.counters import FAULT_KINDS, Counters, private_counters, shared_counters
from keepwarm.vllm.exposition import ComputeCacheCollector
from keepwarm.vllm.keeper import Keeper
from keepwarm.vllm.orders import BoundaryOrder, WindowOrder
from keepwarm.vllm.pool import attach
from keepwarm.vllm.settings import Rule, Settings
from tests.vllm.real import Call, RealServer

NEVER_US = 10**9
NEVER = 10**9
RULES: tuple[Rule, ...] = ("boundary", "window")
ORDERS: dict[Rule, Any] = {"boundary": BoundaryOrder, "window": WindowOrder}
Fault = Callable[[Callable[..., Any]], Callable[..., Any]]


class Messages(logging.Handler):
    """What the plugin logs."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def faults(self) -> list[str]:
        return [line for line in self.lines if "kind '" in line]


@pytest.fixture
def messages() -> Iterator[Messages]:
    logger, handler = logging.getLogger("vllm.computecache"), Messages()
    disabled = logging.root.manager.disable
    logging.disable(logging.NOTSET)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    logging.disable(disabled)


def settings(rule: Rule, *, fault_limit: int = NEVER, budget_us: int = NEVER_US) -> Settings:
    """Demotes at every chance."""
    return Settings(
        mode="active",
        rule=rule,
        protected_share=0.1,
        stale_turnovers=1.0,
        least_stale_blocks=0,
        scan_limit=8,
        decision_budget_us=budget_us,
        fault_limit=fault_limit,
    )


def hooked_server(given: Settings, counters: Counters) -> RealServer:
    server = RealServer(ServerConfig(8, 24, 24 * 8, 8, 64))
    assert attach(server.pool, given, counters) is not None
    return server


def serve(server: RealServer, seed: int, requests: int = 60) -> None:
    """Requests that share heads come and go until all are over; the free list is whole after every step."""
    rng = random.Random(seed)
    heads = [[head] * 8 * rng.randint(1, 6) for head in range(4)]
    running: set[str] = set()
    for index in range(requests):
        call = Call(
            f"{seed}-{index}",
            [*rng.choice(heads), *[100 + index] * rng.randint(1, 40)],
            [7] * rng.randint(1, 12),
        )
        server.add(call)
        running.add(call.id)
        if rng.random() < 0.1:
            server.pool.evict_blocks({rng.randrange(1, 25)})
        for _ in range(rng.randint(0, 3)):
            _step(server, running)
        if rng.random() < 0.05:
            server.reset_cache(preempt_running=True)
            check_list(server.pool)
    for _ in range(20 * requests):
        if not running:
            return
        _step(server, running)
    raise AssertionError(f"{len(running)} requests are never served")


def _step(server: RealServer, running: set[str]) -> None:
    for request_id in server.step().finished:
        running.remove(request_id)
        server.forget(request_id)
    check_list(server.pool)


def check_list(pool: Any) -> None:
    """Every free block once, forwards as backwards, and none that is used."""
    queue = pool.free_block_queue
    forwards = walk(queue.fake_free_list_head, "next_free_block", len(pool.blocks))
    backwards = walk(queue.fake_free_list_tail, "prev_free_block", len(pool.blocks))
    assert forwards == backwards[::-1]
    free = {block.block_id for block in pool.blocks if block.ref_cnt == 0 and not block.is_null}
    assert set(forwards) == free
    assert len(forwards) == queue.num_free_blocks == len(free)


def walk(end: Any, link: str, most: int) -> list[int]:
    """From one end of the list to the other; a list that is broken may go round for ever."""
    ids: list[int] = []
    block = getattr(end, link)
    while getattr(block, link) is not None:
        ids.append(block.block_id)
        assert len(ids) <= most, "the list is a ring"
        block = getattr(block, link)
    return ids


def faults(counters: Counters) -> dict[str, int]:
    counted = {kind: counters.get(f"fault_{kind}") for kind in FAULT_KINDS}
    return {kind: count for kind, count in counted.items() if count}


def raises(stock: Callable[..., Any]) -> Callable[..., Any]:
    def fail(*args: Any, **options: Any) -> Any:
        raise RuntimeError("on purpose")

    return fail


def raises_afterwards(stock: Callable[..., Any]) -> Callable[..., Any]:
    def fail(*args: Any, **options: Any) -> Any:
        stock(*args, **options)
        raise RuntimeError("on purpose")

    return fail


def returns_the_wrong_type(stock: Callable[..., Any]) -> Callable[..., Any]:
    def answer(*args: Any, **options: Any) -> Any:
        stock(*args, **options)
        return object()

    return answer


def now_and_then(fault: Fault) -> Fault:
    def sometimes(stock: Callable[..., Any]) -> Callable[..., Any]:
        rng, faulty = random.Random(1), fault(stock)

        def choose(*args: Any, **options: Any) -> Any:
            return (faulty if rng.random() < 0.3 else stock)(*args, **options)

        return choose

    return sometimes


FAULTS: list[Fault] = [raises, raises_afterwards, returns_the_wrong_type]
FAULTS += [now_and_then(raises), now_and_then(raises_afterwards), now_and_then(returns_the_wrong_type)]
NAMES = [f"{often} {fault.__name__}" for often in ("always", "sometimes") for fault in FAULTS[:3]]


def inject(owner: Any, name: str, fault: Fault) -> list[int]:
    """Put ``fault`` in the place of a method of one object; how often it was called, as it goes on."""
    calls = [0]
    faulty = fault(getattr(owner, name))

    def counting(*args: Any, **options: Any) -> Any:
        calls[0] += 1
        return faulty(*args, **options)

    setattr(owner, name, counting)
    if name == "on_allocate":  # let nothing be said to be decided without it
        owner.front = lambda: (None, 0)
    return calls


def methods(kind: type) -> list[str]:
    """Of the class and of those it is made of, but for Python's own."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return [name for name, _ in found if not name.startswith("__")]


GUARDED = ("freed_watched", "keep", "note_protected", "plan", "unwatch")
STEPS = [name for name in methods(Keeper) if name.startswith("_") or name in GUARDED]


@pytest.mark.parametrize("fault", FAULTS, ids=NAMES)
@pytest.mark.parametrize("rule", RULES)
def test_a_fault_in_any_method_of_the_policy(rule: Rule, fault: Fault, messages: Messages) -> None:
    called = set()
    for name in methods(ORDERS[rule]):
        counters = private_counters()
        server = hooked_server(settings(rule), counters)
        calls = inject(server.pool.computecache.keeper.policy, name, fault)
        messages.lines.clear()
        serve(server, seed=1)
        if calls[0]:
            called.add(name)
        counted = faults(counters)
        assert len(messages.faults()) == len(counted), name
        if fault is raises and calls[0]:
            assert sum(counted.values()) >= min(calls[0], 2), name
    assert "on_allocate" in called
    assert len(called) >= 4


@pytest.mark.parametrize("fault", [raises, now_and_then(raises)], ids=["always", "sometimes"])
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("rule", RULES)
def test_a_fault_in_any_step_of_the_keeper(rule: Rule, name: str, fault: Fault, messages: Messages) -> None:
    """Those that are called within a guard, its own or that of the pool or the queue."""
    counters = private_counters()
    server = hooked_server(settings(rule)._replace(log_every=3), counters)
    inject(server.pool.computecache.keeper, name, fault)
    serve(server, seed=2)
    assert len(messages.faults()) == len(faults(counters))


@pytest.mark.parametrize("rule", RULES)
def test_a_slow_decision(rule: Rule, messages: Messages) -> None:
    counters = private_counters()
    server = hooked_server(settings(rule, fault_limit=5, budget_us=2000), counters)

    def slowly(stock: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **options: (time.sleep(0.003), stock(*args, **options))[1]

    inject(server.pool.computecache.keeper.policy, "on_allocate", slowly)
    serve(server, seed=3)
    assert faults(counters) == {"slow": 5}
    assert len(messages.faults()) == 1
    assert type(server.pool.free_block_queue) is FreeKVCacheBlockQueue


@pytest.mark.parametrize("rule", RULES)
def test_after_too_many_faults_the_list_is_vllms_own(rule: Rule, messages: Messages, tmp_path: Path) -> None:
    counters = shared_counters(tmp_path)
    server = hooked_server(settings(rule, fault_limit=7), counters)
    inject(server.pool.computecache.keeper.policy, "on_allocate", raises)
    assert type(server.pool.free_block_queue) is not FreeKVCacheBlockQueue
    serve(server, seed=4)
    assert type(server.pool.free_block_queue) is FreeKVCacheBlockQueue
    assert faults(counters) == {"allocate": 7}
    assert len(messages.faults()) == 1
    assert sum("too many faults" in line for line in messages.lines) == 1
    decisions = counters.get("decisions")
    serve(server, seed=5)
    assert counters.get("decisions") == decisions
    page = _page(tmp_path)
    assert 'computecache_faults_total{kind="allocate"} 7.0' in page
    assert "computecache_tripped 1.0" in page
    assert 'computecache_effective_mode{mode="active"} 0.0' in page
    assert 'computecache_effective_mode{mode="lru"} 1.0' in page
    assert "computecache_protected_blocks 0.0" in page


def _page(directory: Path) -> str:
    registry = CollectorRegistry()
    registry.register(ComputeCacheCollector(directory))
    return generate_latest(registry).decode()


@pytest.mark.parametrize("name", ["on_allocate", "keep", "use", "take", "forget", "demote"])
def test_a_policy_that_trips_anywhere_leaves_a_whole_list(name: str) -> None:
    if not hasattr(BoundaryOrder, name):
        pytest.fail(f"the policy has no {name}: name what took its place")
    counters = private_counters()
    server = hooked_server(settings("boundary", fault_limit=3), counters)
    inject(server.pool.computecache.keeper.policy, name, raises)
    serve(server, seed=6, requests=120)
    assert sum(faults(counters).values()) == 3
    assert type(server.pool.free_block_queue) is FreeKVCacheBlockQueue


def test_without_a_decision_the_head_of_the_list_is_taken() -> None:
    counters = private_counters()
    server = hooked_server(settings("boundary"), counters)
    serve(server, seed=7)
    inject(server.pool.computecache.keeper.policy, "on_allocate", raises)
    server.pool.computecache.keeper.quiet_until = 0
    server.pool.computecache.keeper.plan()
    head = [block.block_id for block in server.pool.free_block_queue.get_all_free_blocks()][:5]
    assert [block.block_id for block in server.pool.get_new_blocks(5)] == head
    assert faults(counters) == {"allocate": 1}


@pytest.mark.parametrize("rule", RULES)
def test_a_pinned_block_in_the_free_list(rule: Rule, messages: Messages) -> None:
    pool, counters = BlockPool(7, True, 8), private_counters()
    attach(pool, settings(rule, fault_limit=3)._replace(protected_share=0.0), counters)
    blocks = pool.get_new_blocks(6)
    request = SimpleNamespace(block_hashes=[b"%d" % at for at in range(6)], num_prompt_tokens=48)
    pool.cache_full_blocks(request, blocks, 0, 6, 8, 0)
    # Both rules want to move the head of the prompt: it was hit (boundary), its depth is least (window).
    pinned = blocks[0]
    if rule == "boundary":
        pool.touch([pinned])
        pool.free_blocks([pinned])
    pool.free_blocks(blocks[::-1])
    pinned.ref_cnt = 1  # on purpose: a bug elsewhere
    for fault in range(1, 4):
        taken = pool.get_new_blocks(1)
        assert pinned not in taken
        assert faults(counters) == {"pinned": fault}
        check_order(pool, len(blocks) - fault)
    assert len(messages.faults()) == 1
    assert type(pool.free_block_queue) is FreeKVCacheBlockQueue


def check_order(pool: Any, free_blocks: int) -> None:
    ids = [block.block_id for block in pool.free_block_queue.get_all_free_blocks()]
    assert len(set(ids)) == len(ids) == pool.get_num_free_blocks() == free_blocks
