"""A cache simulation as a JSON document."""

from __future__ import annotations

from typing import Any

import msgspec

from keepwarm._json import plain
from keepwarm.cache.simulation import Simulation


def simulation_document(simulation: Simulation) -> dict[str, Any]:
    """Records as dictionaries; every rate is the exact quotient of the two counts beside it.

    Only estimates are rounded: what a sample says, what a server has.
    """
    document: dict[str, Any] = msgspec.to_builtins(simulation)
    document["server"] = plain(simulation.server)
    document["sampled_curve"] = plain(simulation.sampled_curve)
    return document
