"""The figures of one run of a fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, pstdev

import msgspec

from keepwarm.fleet.options import FleetOptions
from keepwarm.fleet.run import FleetLedger
from keepwarm.serving.ledger import Counts, Served
from keepwarm.serving.row import Row, row_of


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Over replicas. ``cv``: standard deviation divided by the mean, 0 if the mean is."""

    mean: float
    max: float
    cv: float


class ReplicaRow(msgspec.Struct, frozen=True, kw_only=True):
    """One replica in the window. ``queue_wait_s``: the mean of its measured ``requests``."""

    requests: int
    served_tokens: int
    queue_wait_s: float
    hit_rate: float
    evicted_blocks: int


class FleetRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run; all of it simulated. ``overall`` are the figures of one server, of all replicas together.

    ``served_tokens``: prompts and answers of the requests that ended in the window. ``hot_spot_share``: of
    its time, in which one replica has more than twice the mean load. ``moves``: requests of measured sessions
    sent to another replica than the one before; ``moved_sessions`` have such a request. ``gain``: completion
    of fcfs and lru divided by that of this run, all else equal; ``gain_kept``: that divided by the same at
    one replica. None until compared.
    """

    balancer: str
    replicas: int
    scheduling: str
    eviction: str
    sessions_per_replica: int
    seed: int
    overall: Row
    served_tokens: Spread
    queue_wait_s: Spread
    hot_spot_share: float
    moves: int
    moved_sessions: int
    gain: float | None = None
    gain_kept: float | None = None
    per_replica: tuple[ReplicaRow, ...]


def fleet_row(
    options: FleetOptions, ran: FleetLedger, alone_s: Mapping[int, float], block_size: int
) -> FleetRow:
    """``alone_s``: of each measured session, by its number, the completion with a server to itself."""
    server = options.server
    together = replace(server, sessions=server.sessions * options.replicas)
    per_replica = tuple(
        _replica_row(served, window) for served, window in zip(ran.served, ran.windows, strict=True)
    )
    return FleetRow(
        balancer=options.balancer,
        replicas=options.replicas,
        scheduling=server.scheduling,
        eviction=server.eviction,
        sessions_per_replica=server.sessions,
        seed=server.seed,
        overall=row_of(together, ran.ledger, alone_s, block_size),
        served_tokens=spread([one.served_tokens for one in per_replica]),
        queue_wait_s=spread([one.queue_wait_s for one in per_replica]),
        hot_spot_share=ran.hot_spot_share,
        moves=ran.moves,
        moved_sessions=ran.moved_sessions,
        per_replica=per_replica,
    )


def _replica_row(served: Sequence[Served], window: Counts) -> ReplicaRow:
    waits_s = [one.queue_wait_s for one in served]
    return ReplicaRow(
        requests=len(served),
        served_tokens=window.tokens,
        queue_wait_s=fmean(waits_s) if waits_s else 0.0,
        hit_rate=window.hit_tokens / max(1, window.query_tokens),
        evicted_blocks=window.evicted_blocks,
    )


def spread(values: Sequence[float]) -> Spread:
    """Of at least one value, none of them negative."""
    mean = fmean(values)
    return Spread(mean=mean, max=float(max(values)), cv=pstdev(values) / mean if mean else 0.0)
