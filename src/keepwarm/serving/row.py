"""The figures of one run."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


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
    """One run; all of it simulated. ``requests`` are the measured ones.

    ``session_completion_s`` is the mean over sessions of their summed request latencies, ``token_goodput``
    prompt and answer tokens less recomputed ones, per second of the makespan. ``evicted_blocks`` counts
    hashes removed. ``later_latency_s`` leaves out each session's first request. ``slowdown_p99`` is over
    sessions: time on the server and between requests, divided by what it takes alone on an empty server;
    ``jain_index`` is Jain's of the inverse slowdowns, 1 if all sessions suffer alike.
    """

    scheduling: str
    eviction: str
    sessions: int
    seed: int
    session_completion_s: float
    request_latency_s: LatencyS
    later_latency_s: LatencyS
    ttft_s: TtftS
    queue_wait_s: WaitS
    token_goodput: float
    requests_per_s: float
    evicted_blocks: int
    hit_rate: float
    makespan_s: float
    requests: int
    recomputed_tokens: int
    preemptions: int
    steps: int


def quantile(ordered: Sequence[float], share: float) -> float:
    """Of sorted values, linear between neighbours; 0 of none."""
    if not ordered:
        return 0.0
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
