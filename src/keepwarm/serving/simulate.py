"""One run from a workload and options to its figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from keepwarm._errors import InputError
from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.estimators.oracle import Oracle
from keepwarm.scheduling.active_set import ActiveSet
from keepwarm.scheduling.base import QueueOrder
from keepwarm.scheduling.fcfs import Fcfs
from keepwarm.serving.alone import alone_s
from keepwarm.serving.base import RequestState, ServerConfig
from keepwarm.serving.clients import Clients
from keepwarm.serving.costs import Coefficients
from keepwarm.serving.glide import GlidingEngine
from keepwarm.serving.host_memory import HostMemory, TieredEngine, TieredPool
from keepwarm.serving.ledger import Ledger
from keepwarm.serving.loop import Loop
from keepwarm.serving.options import ServingOptions
from keepwarm.serving.pool import ServingPool
from keepwarm.serving.population import Cast, choose
from keepwarm.serving.row import Row, row_of
from keepwarm.serving.rules import Eviction, eviction, queue_order
from keepwarm.workload.base import SessionTrace, Workload

CHEAP_RELOAD = 0.25  # of what computing a token costs: below it, nobody has to wait for a place in the set


def simulate(
    workload: Workload,
    options: ServingOptions,
    *,
    order: type[QueueOrder[RequestState]] | None = None,
    loop: Callable[..., Loop] = Loop,
) -> Row:
    """Run ``workload`` on the modelled server. Raises InputError for options that no run could have.

    The cache is simulated at the workload's own block size: M tokens are M // block_size blocks. ``order``
    is a queue order in place of the one named ``options.scheduling``, say one tuned otherwise; ``loop`` makes
    the loop, say one that is watched.
    """
    config, cast = check_run(workload, options)
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
    clients = Clients(cast, options.gap_scale)
    told = options.eviction != Oracle.name  # which knows when people answer, too
    ledger = loop(engine, clients, costs, cast.measured, gaps_s=gaps_s, tells_humans=told).run()
    return row_of(options, ledger, _alone(ledger, config, costs), config.block_size)


def check_run(workload: Workload, options: ServingOptions) -> tuple[ServerConfig, Cast]:
    """The server and the sessions of a run. Raises InputError for options that no run could have."""
    options.check()
    config = _server_config(options, workload.block_size)
    return config, choose(workload, options, config.capacity_blocks * config.block_size)


def _server_config(options: ServingOptions, block_size: int) -> ServerConfig:
    """The limits of the server. Raises InputError for those that no server could have."""
    profile = options.profile
    capacity_blocks = (options.capacity_tokens or profile.capacity_tokens) // block_size
    config = ServerConfig(
        block_size,
        capacity_blocks,
        max_request_tokens=capacity_blocks * block_size + 1,
        max_running_requests=profile.max_running_requests,
        step_tokens=options.step_tokens or profile.step_tokens,
    )
    config.check()
    return config


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


def _alone(ledger: Ledger, config: ServerConfig, costs: Coefficients) -> dict[int, float]:
    return {
        served.client.number: _alone_s(_Known(served.client.trace), config, costs)
        for served in ledger.served
        if served.client.next_turn is None and served.turn == served.client.sent - 1
    }


class _Known:
    """A session by its identity: its completion alone is the same in every run of a grid."""

    def __init__(self, trace: SessionTrace) -> None:
        self.trace = trace

    def __hash__(self) -> int:
        return id(self.trace.turns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and other.trace.turns is self.trace.turns


@lru_cache(maxsize=4096)
def _alone_s(known: _Known, config: ServerConfig, costs: Coefficients) -> float:
    return alone_s(known.trace, config, costs)
