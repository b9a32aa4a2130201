"""The figures of one run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from keepwarm.serving.ledger import Ledger, Served
from keepwarm.serving.options import ServingOptions


class LatencyS(msgspec.Struct, frozen=True):
    """Request latencies in seconds."""

    p50: float
    p99: float
    max: float


class TtftS(msgspec.Struct, frozen=True):
    """Times to the first token in seconds."""

    p50: float
    p99: float


class WaitS(msgspec.Struct, frozen=True):
    """Seconds from arrival to the first admission."""

    p99: float
    max: float


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One run; all of it simulated.

    ``session_completion_s`` is the mean over measured sessions of their summed request latencies, tools
    excluded; latencies, waits and ``requests`` are of these sessions. ``later_latency_s`` leaves out the
    first request of each. A session's slowdown is its completion divided by what it takes with the server
    to itself: ``slowdown_p99`` over sessions, ``jain_index`` of the inverse slowdowns, 1 if all suffer
    alike. The rest counts everybody's requests in the window from the first start to the last end of a
    measured session, ``makespan_s`` long. ``token_goodput`` is prompt and answer tokens of the requests
    that ended in it, less recomputed ones, per second; ``evicted_blocks`` counts hashes removed,
    ``reloaded_blocks`` those read from host memory, ``probed_blocks`` what the queue order asked for.
    """

    scheduling: str
    eviction: str
    sessions: int
    seed: int
    session_completion_s: float
    request_latency_s: LatencyS
    ttft_s: TtftS
    queue_wait_s: WaitS
    token_goodput: float
    requests_per_s: float
    evicted_blocks: int
    hit_rate: float
    makespan_s: float
    later_latency_s: LatencyS
    slowdown_p99: float
    jain_index: float
    requests: int
    recomputed_tokens: int
    reloaded_blocks: int
    preemptions: int
    probed_blocks: int
    steps: int


def row_of(options: ServingOptions, ledger: Ledger, alone_s: Mapping[int, float], block_size: int) -> Row:
    """``alone_s``: of each measured session, by its number, the completion with the server to itself."""
    served, window = ledger.served, ledger.window
    completion_s: defaultdict[int, float] = defaultdict(float)
    for one in served:
        completion_s[one.client.number] += one.latency_s
    slowdowns = sorted(total_s / alone_s[number] for number, total_s in completion_s.items())
    ttft_s = sorted(one.ttft_s for one in served)
    waits_s = sorted(one.queue_wait_s for one in served)
    recomputed_tokens = window.recomputed_blocks * block_size
    return Row(
        scheduling=options.scheduling,
        eviction=options.eviction,
        sessions=options.sessions,
        seed=options.seed,
        session_completion_s=sum(completion_s.values()) / len(completion_s),
        request_latency_s=_latency_s(served),
        ttft_s=TtftS(quantile(ttft_s, 0.5), quantile(ttft_s, 0.99)),
        queue_wait_s=WaitS(quantile(waits_s, 0.99), waits_s[-1]),
        token_goodput=(window.tokens - recomputed_tokens) / window.at_s,
        requests_per_s=window.requests / window.at_s,
        evicted_blocks=window.evicted_blocks,
        hit_rate=window.hit_tokens / max(1, window.query_tokens),
        makespan_s=window.at_s,
        later_latency_s=_latency_s([one for one in served if one.turn]),
        slowdown_p99=quantile(slowdowns, 0.99),
        jain_index=jain_index([1 / slowdown for slowdown in slowdowns]),
        requests=len(served),
        recomputed_tokens=recomputed_tokens,
        reloaded_blocks=window.reloaded_blocks,
        preemptions=window.preemptions,
        probed_blocks=window.probed_blocks,
        steps=window.steps,
    )


def _latency_s(served: Sequence[Served]) -> LatencyS:
    ordered = sorted(one.latency_s for one in served)
    return LatencyS(quantile(ordered, 0.5), quantile(ordered, 0.99), ordered[-1] if ordered else 0.0)


def quantile(ordered: Sequence[float], share: float) -> float:
    """Of sorted values, linear between neighbours; 0 of none."""
    if not ordered:
        return 0.0
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def jain_index(values: Sequence[float]) -> float:
    """(Σx)² / (n Σx²) (Jain, Chiu, Hawe, DEC-TR-301, 1984): 1/n if one has all, 1 if all have the same."""
    return sum(values) ** 2 / (len(values) * sum(value**2 for value in values))
