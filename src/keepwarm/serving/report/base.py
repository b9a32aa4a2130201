"""What a report of simulated runs holds."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from keepwarm.serving.options import ServingOptions
from keepwarm.serving.row import Row
from keepwarm.workload.base import Workload


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """The trace as a workload. ``skipped``: a line for each request left out."""

    path: str
    trace_sha256: str = ""  # empty in documents of before it was told
    block_size: int
    sessions: int
    requests: int
    skipped: tuple[str, ...]


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """What was modelled. ``capacity_blocks`` are of the trace's own block size."""

    profile: str
    costs: str
    block_size: int
    capacity_blocks: int
    step_tokens: int
    max_running_requests: int
    host_memory_gib: float


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """How sessions came."""

    population: str
    gap_scale: float


class ServingReport(msgspec.Struct, frozen=True, kw_only=True):
    """All of it simulated."""

    input: Input
    server: Server
    conditions: Conditions
    rows: tuple[Row, ...]


def serving_report(
    path: str, workload: Workload, base: ServingOptions, rows: Sequence[Row], *, trace_sha256: str
) -> ServingReport:
    """``base`` is what all rows have in common."""
    profile = base.profile
    capacity_tokens = base.capacity_tokens or profile.capacity_tokens
    return ServingReport(
        input=Input(
            path=path,
            trace_sha256=trace_sha256,
            block_size=workload.block_size,
            sessions=len(workload.sessions),
            requests=sum(len(session.turns) for session in workload.sessions),
            skipped=tuple(workload.skipped),
        ),
        server=Server(
            profile=profile.name,
            costs=profile.costs.kind,
            block_size=workload.block_size,
            capacity_blocks=capacity_tokens // workload.block_size,
            step_tokens=base.step_tokens or profile.step_tokens,
            max_running_requests=profile.max_running_requests,
            host_memory_gib=base.host_memory_gib,
        ),
        conditions=Conditions(population=base.population.value, gap_scale=base.gap_scale),
        rows=tuple(rows),
    )
