"""Whatever goes wrong while CacheWise names victims, vLLM serves on, on its own list."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from vllm.v1.core.block_pool import BlockPool
from vllm.v1.core.kv_cache_utils import FreeKVCacheBlockQueue

from keepwarm.policies.cachewise import CacheWise
from keepwarm.policies.sessions import ReuseRank, SessionId, Tier
from keepwarm.scheduling.sessions import MOST_SESSIONS
from keepwarm.serving.base import ServerConfig
from keepwarm.vllm.counters import Counters, private_counters
from keepwarm.vllm.pool import attach
from keepwarm.vllm.session_order import SessionOrder
from tests.vllm.cachewise import NEVER, PATIENT, CacheWiseServer
from tests.vllm.real import Call
from tests.vllm.test_faults import (
    FAULTS,
    NAMES,
    STEPS,
    Fault,
    Messages,
    check_list,
    check_order,
    faults,
    inject,
    methods,
    now_and_then,
    raises,
    serve,
)


@pytest.fixture
def messages() -> Iterator[Messages]:
    logger, handler = logging.getLogger("vllm.computecache"), Messages()
    disabled = logging.root.manager.disable
    logging.disable(logging.NOTSET)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    logging.disable(disabled)


def server(counters: Counters, *, fault_limit: int = NEVER, budget_us: int = NEVER) -> CacheWiseServer:
    limits = PATIENT._replace(fault_limit=fault_limit, decision_budget_us=budget_us)
    return CacheWiseServer(ServerConfig(8, 24, 24 * 8, 8, 64), counters, limits)


def own(made: CacheWiseServer) -> dict[str, Any]:
    """The objects whose methods are called within the hooks."""
    return {"order": made.order, "policy": made.order.policy, "keeper": made.hooks.keeper}


KINDS: dict[str, list[str]] = {
    "order": methods(SessionOrder),
    "policy": [name for name in methods(CacheWise) if not name.startswith("_")],
    "keeper": STEPS,
}


@pytest.mark.parametrize("fault", FAULTS, ids=NAMES)
@pytest.mark.parametrize("where", ["order", "policy"])
def test_a_fault_in_any_method(where: str, fault: Fault, messages: Messages) -> None:
    called = set()
    for name in KINDS[where]:
        counters = private_counters()
        made = server(counters)
        calls = inject(own(made)[where], name, fault)
        messages.lines.clear()
        serve(made, seed=1)
        if calls[0]:
            called.add(name)
        counted = faults(counters)
        assert len(messages.faults()) == len(counted), name
        if fault is raises and calls[0] and name != "begin_step":  # our scheduler class meets that one
            assert sum(counted.values()) >= min(calls[0], 2), name
    assert len(called) >= 6


@pytest.mark.parametrize("fault", [raises, now_and_then(raises)], ids=["always", "sometimes"])
@pytest.mark.parametrize("name", KINDS["keeper"])
def test_a_fault_in_any_step_of_the_keeper(name: str, fault: Fault, messages: Messages) -> None:
    counters = private_counters()
    made = server(counters)
    inject(own(made)["keeper"], name, fault)
    serve(made, seed=2)
    assert len(messages.faults()) == len(faults(counters))


def no_rank(session: SessionId) -> ReuseRank:
    raise RuntimeError("on purpose")


def not_a_number(session: SessionId) -> ReuseRank:
    return ReuseRank(Tier.TOOL, float("nan"))


@pytest.mark.parametrize("rank", [no_rank, not_a_number])
def test_ranks_that_cannot_be_had(rank: Callable[[SessionId], ReuseRank], messages: Messages) -> None:
    """Such a session counts as unknown; after too many of them the list is vLLM's own."""
    counters = private_counters()
    made = server(counters, fault_limit=7)
    made.state.table.rank = rank  # type: ignore[method-assign]
    serve(made, seed=3)
    assert faults(counters) == {"allocate": 7}
    assert len(messages.faults()) == 1
    assert sum("CacheWise: too many faults" in line for line in messages.lines) == 1
    assert type(made.pool.free_block_queue) is FreeKVCacheBlockQueue
    decisions = counters.get("decisions")
    serve(made, seed=4)
    assert counters.get("decisions") == decisions


def test_nobody_knows_the_session(messages: Messages) -> None:
    counters = private_counters()
    made = server(counters)

    def fail(request_id: str) -> SessionId | None:
        raise RuntimeError("on purpose")

    made.order._session_of = fail
    serve(made, seed=5)
    assert set(faults(counters)) == {"allocate", "free", "hit", "cache"}
    assert len(messages.faults()) == 4


def test_a_decision_that_takes_too_long_ends_early(messages: Messages) -> None:
    """After the budget no further victim is named: vLLM takes what stands at the head."""
    counters = private_counters()
    made = CacheWiseServer(ServerConfig(8, 200, 200 * 8, 8, 64), counters, PATIENT._replace(fault_limit=5))
    made.order._budget_ns = made.hooks.keeper._budget_ns = 3_000_000  # type: ignore[union-attr]
    blocks = made.pool.get_new_blocks(200)
    request = SimpleNamespace(block_hashes=[b"%d" % at for at in range(200)], num_prompt_tokens=NEVER)
    made.pool.cache_full_blocks(request, blocks, 0, 200, 8, 0)
    made.pool.free_blocks(blocks[::-1])
    stock, named = made.order.policy.pop_victim, []

    def slowly() -> Any:
        time.sleep(0.001)
        named.append(stock())
        return named[-1]

    made.order.policy.pop_victim = slowly  # type: ignore[method-assign]
    taken = made.pool.get_new_blocks(150)
    assert 3 <= len(named) <= 32
    assert len(taken) == 150
    assert faults(counters) == {"slow": 1}
    check_list(made.pool)


def test_a_pinned_block_in_the_free_list(messages: Messages) -> None:
    pool, counters = BlockPool(7, True, 8), private_counters()
    policy = CacheWise(6, SimpleNamespace(rank=lambda session: ReuseRank(Tier.TOOL, 0.0)))  # type: ignore[arg-type]
    order = SessionOrder(pool, policy, SessionId, NEVER)
    attach(pool, PATIENT._replace(fault_limit=1), counters, lambda pool, settings: order)
    blocks = pool.get_new_blocks(6)
    request = SimpleNamespace(block_hashes=[b"%d" % at for at in range(6)], num_prompt_tokens=48)
    pool.cache_full_blocks(request, blocks, 0, 6, 8, 0)
    pool.free_blocks([blocks[3]])  # the victim, and not at the head
    pool.free_blocks([block for block in blocks if block is not blocks[3]])
    head = pool.free_block_queue.fake_free_list_head.next_free_block
    assert head is blocks[3]
    policy.on_hit(order._contents[head.block_id], was_free=True)  # type: ignore[arg-type]
    order._is_held[head.block_id] = 0
    victim = blocks[0]
    victim.ref_cnt = 1  # on purpose: a bug elsewhere
    assert pool.get_new_blocks(1) == [blocks[3]]
    assert faults(counters) == {"pinned": 1}
    assert len(messages.faults()) == 1
    check_order(pool, 5)
    assert type(pool.free_block_queue) is FreeKVCacheBlockQueue


def test_more_sessions_than_are_remembered() -> None:
    counters = private_counters()
    made = CacheWiseServer(ServerConfig(8, 4_000, 256, 64, 4_096), counters)
    for index in range(MOST_SESSIONS + 2_000):
        made.add(Call(str(index), [index % 1_000, *[index] * 23], [7, 7], session=f"session {index}"))
        while len(made.requests) > 48:
            for request_id in made.step().finished:
                made.forget(request_id)
    while made.requests:
        for request_id in made.step().finished:
            made.forget(request_id)
    assert not faults(counters)
    assert len(made.state.table) == MOST_SESSIONS
    assert made.state.table.forgotten == 2_000
    assert not made.state.sessions
    evicted = counters.get("evicted_hit") + counters.get("evicted_never_hit")
    assert evicted > 20_000
    policy = made.order.policy
    assert len(policy._groups) <= 4_000
    assert len(policy._heap) <= 2 * 4_000
    check_list_quickly(made.pool)


def check_list_quickly(pool: Any) -> None:
    ids = [block.block_id for block in pool.free_block_queue.get_all_free_blocks()]
    assert sorted(ids) == list(range(1, pool.num_gpu_blocks))
