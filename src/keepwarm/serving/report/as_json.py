"""Simulated runs as a JSON document."""

from __future__ import annotations

from typing import Any

from keepwarm._json import plain
from keepwarm.serving.report.base import ServingReport

SCHEMA = "keepwarm.serving-sim/1"


def report_document(report: ServingReport) -> dict[str, Any]:
    """Its schema first; floats to six digits."""
    return {"schema": SCHEMA, **plain(report)}
