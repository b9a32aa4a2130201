"""What a report of simulated fleets holds."""

from __future__ import annotations

import msgspec

from keepwarm.fleet.grid import FleetRows
from keepwarm.fleet.row import FleetRow
from keepwarm.serving.report.base import Conditions, Input, Server, ServingReport


class FleetReport(msgspec.Struct, frozen=True, kw_only=True):
    """All of it simulated. ``server``: each replica; ``compared_with``: not asked for, but used in gains."""

    input: Input
    server: Server
    conditions: Conditions
    load_bound: float
    rows: tuple[FleetRow, ...]
    compared_with: tuple[FleetRow, ...]


def fleet_report(servers: ServingReport, found: FleetRows, *, load_bound: float) -> FleetReport:
    """``servers`` says what all replicas have in common; its own rows are not looked at."""
    return FleetReport(
        input=servers.input,
        server=servers.server,
        conditions=servers.conditions,
        load_bound=load_bound,
        rows=tuple(found.rows),
        compared_with=tuple(found.compared_with),
    )
