"""CacheWise names the victims of block pools: what ``KEEPWARM_EVICTION=cachewise`` puts into vLLM.

Pools get the hooks of ComputeCache with another order, and cache managers say on whose behalf they call them.
What sessions do our scheduler class says. Under another one nothing is known of any, and the order is LRU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from keepwarm.policies.cachewise import CacheWise
from keepwarm.vllm.cache_manager import hook_managers
from keepwarm.vllm.pool import hook
from keepwarm.vllm.serving.state import EngineState, engine_state
from keepwarm.vllm.session_order import SessionOrder
from keepwarm.vllm.settings import Settings
from keepwarm.vllm.startup import Attach
from keepwarm.vllm.stock import Pool

KV_CACHE_MANAGER = "vllm/v1/core/kv_cache_manager.py"
# What is relied on beside what ComputeCache relies on; see keepwarm.vllm.fingerprints.
MANAGER_FINGERPRINTS = {
    KV_CACHE_MANAGER: {
        "KVCacheManager.__init__": "50f4ba16a1968b93",
        "KVCacheManager.allocate_slots": "a6ece9177eb6b4ad",
        "KVCacheManager.cache_blocks": "42453425ecaea824",
        "KVCacheManager.free": "f61008ec7c624539",
    }
}


def hook_eviction(pool_type: Any, manager_type: Any, settings: Settings, directory: Path | None) -> None:
    """CacheWise acts on each pool and manager of exactly these types made from here on. Mutates the types.

    Of ``settings`` the time budget, the fault limit and how often to log are in effect.
    """
    attach = Attach(settings._replace(mode="active"), directory, session_order)

    def on_made(pool: Any) -> None:
        attach(pool)
        hooks = getattr(pool, "computecache", None)
        if hooks is not None:
            engine_state().faults.on_trip.append(hooks.trip)

    hook(pool_type, on_made)
    hook_managers(manager_type)


def session_order(pool: Pool, settings: Settings, state: EngineState | None = None) -> SessionOrder:
    """CacheWise over the blocks of one pool and the sessions of the engine that makes it."""
    state = engine_state() if state is None else state
    policy = CacheWise(pool.num_gpu_blocks - 1, state.table)
    state.on_step.append(lambda _: policy.begin_step())
    return SessionOrder(pool, policy, state.session_of, settings.decision_budget_us)
