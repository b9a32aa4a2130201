"""One run from a workload and options to its figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from keepwarm.serving.base import ServerConfig
from keepwarm.serving.clients import Clients
from keepwarm.serving.glide import GlidingEngine
from keepwarm.serving.loop import Ledger, Loop
from keepwarm.serving.options import ServingOptions
from keepwarm.serving.pool import ServingPool
from keepwarm.serving.population import choose
from keepwarm.serving.row import LatencyS, Row, TtftS, WaitS, quantile
from keepwarm.serving.rules import eviction, queue_order
from keepwarm.serving.served import Served
from keepwarm.workload.base import Workload


def simulate(workload: Workload, options: ServingOptions) -> Row:
    """Run ``workload`` on the modelled server. Raises InputError for options that no run could have.

    The cache is simulated at the workload's own block size: M tokens are M // block_size blocks.
    """
    options.check()
    profile = options.profile
    capacity_blocks = (options.capacity_tokens or profile.capacity_tokens) // workload.block_size
    config = ServerConfig(
        workload.block_size,
        capacity_blocks,
        max_request_tokens=capacity_blocks * workload.block_size + 1,
        max_running_requests=profile.max_running_requests,
        step_tokens=options.step_tokens or profile.step_tokens,
    )
    config.check()
    costs = profile.coefficients()
    cast = choose(workload, options, capacity_blocks * workload.block_size)
    policy, sessions = eviction(options.eviction, capacity_blocks)
    pool = ServingPool(capacity_blocks, policy)
    engine = GlidingEngine(config, pool, queue_order(options.scheduling), sessions)
    engine.prefill_s_per_token = costs.prefill_s_per_token(
        config.step_tokens, _usual_context_tokens(workload)
    )
    ledger = Loop(engine, Clients(cast, options.gap_scale), costs).run()
    return _row(options, ledger, engine, pool)


def _usual_context_tokens(workload: Workload) -> int:
    """Half the median prompt: where the middle of a cold prefill is."""
    prompts = sorted(turn.prompt_tokens for session in workload.sessions for turn in session.turns)
    return prompts[len(prompts) // 2] // 2


def _row(options: ServingOptions, ledger: Ledger, engine: GlidingEngine, pool: ServingPool) -> Row:
    served = ledger.served
    by_session: defaultdict[int, float] = defaultdict(float)
    for one in served:
        by_session[one.client.number] += one.latency_s
    tokens = sum(one.state.known_tokens for one in served)
    recomputed_tokens = pool.recomputed_blocks * engine.block_size
    ttft_s = sorted(one.ttft_s for one in served)
    waits_s = sorted(one.queue_wait_s for one in served)
    return Row(
        scheduling=options.scheduling,
        eviction=options.eviction,
        sessions=options.sessions,
        seed=options.seed,
        session_completion_s=sum(by_session.values()) / len(by_session),
        request_latency_s=_latency_s(served),
        later_latency_s=_latency_s([one for one in served if one.turn]),
        ttft_s=TtftS(quantile(ttft_s, 0.5), quantile(ttft_s, 0.99)),
        queue_wait_s=WaitS(quantile(waits_s, 0.99), waits_s[-1]),
        token_goodput=(tokens - recomputed_tokens) / ledger.end_s,
        requests_per_s=len(served) / ledger.end_s,
        evicted_blocks=ledger.evicted_blocks,
        hit_rate=engine.lookups.hit_tokens / max(1, engine.lookups.query_tokens),
        makespan_s=ledger.end_s,
        requests=len(served),
        recomputed_tokens=recomputed_tokens,
        preemptions=ledger.preemptions,
        steps=ledger.steps,
    )


def _latency_s(served: Sequence[Served]) -> LatencyS:
    ordered = sorted(one.latency_s for one in served)
    return LatencyS(quantile(ordered, 0.5), quantile(ordered, 0.99), ordered[-1] if ordered else 0.0)
