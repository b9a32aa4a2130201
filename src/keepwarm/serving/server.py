"""What a modelled server is made of, as its options say."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TypeVar

from keepwarm._errors import InputError
from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.estimators.oracle import Oracle
from keepwarm.scheduling.active_set import ActiveSet
from keepwarm.scheduling.base import QueueOrder
from keepwarm.scheduling.fcfs import Fcfs
from keepwarm.serving.base import RequestState, ServerConfig
from keepwarm.serving.clients import Clients
from keepwarm.serving.glide import GlidingEngine
from keepwarm.serving.host_memory import HostMemory, TieredEngine, TieredPool
from keepwarm.serving.loop import Loop
from keepwarm.serving.options import ServingOptions
from keepwarm.serving.pool import ServingPool
from keepwarm.serving.rules import Eviction, eviction, queue_order
from keepwarm.workload.base import Workload

CHEAP_RELOAD = 0.25  # of what computing a token costs: below it, nobody has to wait for a place in the set

AnyLoop = TypeVar("AnyLoop", bound=Loop)


def modelled_server(
    workload: Workload,
    options: ServingOptions,
    config: ServerConfig,
    clients: Clients,
    measured: Container[int],
    *,
    loop: Callable[..., AnyLoop],
    order: type[QueueOrder[RequestState]] | None = None,
) -> AnyLoop:
    """A ``loop`` around a server that is empty, for ``clients``, of which those ``measured`` are.

    ``order`` is a queue order in place of the one named ``options.scheduling``. Raises InputError for host
    memory that the profile cannot have.
    """
    costs = options.profile.coefficients()
    gaps_s: dict[SessionId, float] = {}
    rule = eviction(
        options.eviction,
        config.capacity_blocks,
        model=options.reuse_model,
        gaps_s=gaps_s,
        n_rebuild=options.n_rebuild,
    )
    prefill_s_per_token = costs.prefill_s_per_token(config.step_tokens, _usual_context_tokens(workload))
    chosen = order or queue_order(options.scheduling)
    if options.host_memory_gib:
        engine: GlidingEngine = _tiered(options, config, rule, chosen, prefill_s_per_token)
    else:
        engine = GlidingEngine(
            config, ServingPool(config.capacity_blocks, rule.policy), chosen, rule.sessions
        )
    engine.prefill_s_per_token = prefill_s_per_token
    told = options.eviction != Oracle.name  # which knows when people answer, too
    return loop(engine, clients, costs, measured, gaps_s=gaps_s, tells_humans=told)


def _tiered(
    options: ServingOptions,
    config: ServerConfig,
    rule: Eviction,
    order: type[QueueOrder[RequestState]],
    prefill_s_per_token: float,
) -> TieredEngine:
    """The server with host memory. Where reading is cheap, the active set makes way for FCFS."""
    profile = options.profile
    reload_s_per_token, kv_bytes = profile.costs.reload_s_per_token, profile.kv_bytes_per_token()
    if reload_s_per_token is None or kv_bytes is None:
        raise InputError(
            f"profile {profile.name!r} has no link to host memory; give host_link_bytes_per_s and the size "
            "of a token's KV in it, or leave host memory out"
        )
    if reload_s_per_token < CHEAP_RELOAD * prefill_s_per_token and issubclass(order, ActiveSet):
        order = Fcfs
    host = HostMemory(int(options.host_memory_gib * 2**30 / (kv_bytes * config.block_size)))
    pool = TieredPool(config.capacity_blocks, rule.policy, host)
    return TieredEngine(config, pool, order, rule.sessions, reload_s_per_token * config.block_size)


def _usual_context_tokens(workload: Workload) -> int:
    """Half the median prompt: where the middle of a cold prefill is."""
    prompts = sorted(turn.prompt_tokens for session in workload.sessions for turn in session.turns)
    return prompts[len(prompts) // 2] // 2
