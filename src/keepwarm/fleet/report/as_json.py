"""Simulated fleets as a JSON document."""

from __future__ import annotations

from typing import Any

from keepwarm._json import plain
from keepwarm.fleet.report.base import FleetReport

SCHEMA = "keepwarm.fleet-sim/1"


def report_document(report: FleetReport) -> dict[str, Any]:
    """Its schema first; floats to six digits."""
    return {"schema": SCHEMA, **plain(report)}
