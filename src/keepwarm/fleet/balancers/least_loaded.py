"""The replica with the fewest tokens in flight."""

from __future__ import annotations

from typing import ClassVar

from keepwarm.fleet.balancers.base import Arrival, Balancer


class LeastLoaded(Balancer):
    """Looks at load only."""

    name: ClassVar[str] = "least-loaded"

    def choose(self, arrival: Arrival) -> int:  # noqa: ARG002 - the protocol's
        return min(range(len(self.replicas)), key=self.by_load)
