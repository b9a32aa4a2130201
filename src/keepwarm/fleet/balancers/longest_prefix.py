"""The replica that has most of the prompt; of equals the least loaded."""

from __future__ import annotations

from typing import ClassVar

from keepwarm.fleet.balancers.base import Arrival, Balancer


class LongestPrefix(Balancer):
    """Where the most would be hit now, however long the queue is there."""

    name: ClassVar[str] = "longest-prefix"

    def choose(self, arrival: Arrival) -> int:
        blocks = arrival.lookup_blocks
        resident = [replica.resident_blocks(blocks) for replica in self.replicas]
        most = max(resident)
        return min((place for place, found in enumerate(resident) if found == most), key=self.by_load)
