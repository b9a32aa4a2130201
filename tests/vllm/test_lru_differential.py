"""In mode ``lru`` the plugin changes nothing: a hooked scheduler of vLLM decides as an unhooked one does."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import pytest
from vllm.v1.core.block_pool import BlockPool
from vllm.v1.core.kv_cache_utils import FreeKVCacheBlockQueue

from keepwarm.serving.base import ServerConfig
from keepwarm.vllm.counters import FAULT_KINDS, private_counters
from keepwarm.vllm.pool import attach
from keepwarm.vllm.settings import Settings
from tests.vllm import streams
from tests.vllm.lockstep import RECENT_EVENTS
from tests.vllm.real import Call, RealServer

STREAM_REQUESTS = (50, 100, 200)  # by seed, in turn
FIRST_SEED = 5_000_000
STEPS = 100_000


class Twins:
    """A hooked server beside an unhooked one, with what ``streams.play`` asks of a ``Lockstep``."""

    def __init__(self, config: ServerConfig) -> None:
        self.stock, self.hooked = RealServer(config), RealServer(config)
        self.plugin = private_counters()
        attach(self.hooked.pool, Settings(mode="lru"), self.plugin)
        self.model = self.stock.requests  # those in flight
        self.counts: Counter[str] = Counter()
        self._recent: deque[tuple[str, Any]] = deque(maxlen=RECENT_EVENTS)

    def add(self, call: Call) -> None:
        self._recent.append(("add", call))
        self.stock.add(call)
        self.hooked.add(call)
        self.counts["requests"] += 1

    def abort(self, request_id: str) -> None:
        self._recent.append(("abort", request_id))
        aborted = self.stock.abort(request_id)
        self._same("aborted", aborted, self.hooked.abort(request_id))
        self.counts["aborts"] += aborted
        self._forget(request_id)
        self._compare_state()

    def reset_cache(self, *, preempt_running: bool = False) -> None:
        self._recent.append(("reset", preempt_running))
        done = self.stock.reset_cache(preempt_running=preempt_running)
        self._same("reset", done, self.hooked.reset_cache(preempt_running=preempt_running))
        self.counts["resets" if done else "refused resets"] += 1
        self._compare_state()

    def step(self) -> None:
        """Requests scheduled, hits, evictions, preemptions and ends are the fields of a ``RealStep``."""
        step = self.stock.step()
        self._recent.append(("step", step.scheduled))
        self._same("step", step, self.hooked.step())
        self._same("look-up counts", self.stock.lookups, self.hooked.lookups)
        for request_id in step.finished:
            self._forget(request_id)
        self.counts["steps"] += 1
        self.counts["hit tokens"] += sum(step.hit_tokens.values())
        self.counts["evictions"] += len(step.evicted)
        self.counts["preemptions"] += len(step.preempted)
        self.counts["finished"] += len(step.finished)
        self._compare_state()

    def drain(self) -> None:
        while self.model:
            self.step()

    def finish(self) -> None:
        """The classes are those that mode ``lru`` leaves, and the counters say what happened."""
        pool, plugin, counts = self.hooked.pool, self.plugin, self.counts
        assert type(self.stock.pool) is BlockPool
        assert type(pool) is not BlockPool
        assert type(pool.free_block_queue) is FreeKVCacheBlockQueue
        evicted = plugin.get("evicted_hit") + plugin.get("evicted_never_hit")
        assert evicted == counts["evictions"]
        assert plugin.get("decisions") == 0
        assert not [kind for kind in FAULT_KINDS if plugin.get(f"fault_{kind}")]

    def _compare_state(self) -> None:
        stock, hooked = self.stock.scheduler, self.hooked.scheduler
        for queue in ("running", "waiting"):
            ids = [[request.request_id for request in getattr(side, queue)] for side in (stock, hooked)]
            self._same(queue, *ids)
        for request in stock.running:
            request_id = request.request_id
            ours = hooked.kv_cache_manager.get_block_ids(request_id)
            self._same("block ids", stock.kv_cache_manager.get_block_ids(request_id), ours)
        self._same("free list", list(self.stock.free_order()), list(self.hooked.free_order()))

    def _forget(self, request_id: str) -> None:
        self.stock.forget(request_id)
        self.hooked.forget(request_id)

    def _same(self, what: str, stock: Any, hooked: Any) -> None:
        self.counts["comparisons"] += 1
        if stock != hooked:
            before = "\n".join(f"  before: {event} {detail!r}" for event, detail in self._recent)
            raise AssertionError(f"{what} differ:\n  stock  {stock!r}\n  hooked {hooked!r}\n{before}")


def compare(first_seed: int, steps: int, patch: pytest.MonkeyPatch) -> Counter[str]:
    """Streams of consecutive seeds until ``steps`` steps are compared."""
    patch.setattr(streams, "Lockstep", Twins)
    counts: Counter[str] = Counter()
    seed = first_seed
    while counts["steps"] < steps:
        try:
            twins: Any = streams.play(seed, STREAM_REQUESTS[seed % len(STREAM_REQUESTS)])
            twins.finish()
        except AssertionError as difference:
            pytest.fail(f"seed {seed}: {difference}", pytrace=False)
        counts += twins.counts
        seed += 1
    return counts


def test_lru_mode_is_stock(totals: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    counts = compare(FIRST_SEED, STEPS, monkeypatch)
    totals.update(counts)
    assert counts["steps"] >= STEPS
    least = {"hit tokens": 50_000, "evictions": 5000, "preemptions": 20, "aborts": 20, "resets": 1}
    for event, few in least.items():
        assert counts[event] >= few, event
    assert counts["finished"] + counts["aborts"] == counts["requests"]


def test_another_order_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison is worth something: the policy in ``active`` does decide otherwise."""
    active, right = Settings(mode="active", decision_budget_us=10**9), attach
    monkeypatch.setattr(f"{__name__}.attach", lambda pool, _, counters: right(pool, active, counters))
    with pytest.raises(pytest.fail.Exception, match="differ"):
        compare(FIRST_SEED, STEPS, monkeypatch)
