"""The replica that has most of the prompt; of equals the least loaded."""

from __future__ import annotations

from typing import ClassVar

from keepwarm.fleet.balancers.base import Arrival, Balancer


class LongestPrefix(Balancer):
    """Where the most would be hit now, however long the queue is there."""

    name: ClassVar[str] = "longest-prefix"

    def choose(self, arrival: Arrival) -> int:
        return self.in_order(arrival)[0]

    def in_order(self, arrival: Arrival) -> list[int]:
        """All replicas, the one with the longest prefix first."""
        blocks = arrival.lookup_blocks
        return sorted(
            range(len(self.replicas)),
            key=lambda replica: (-self.replicas[replica].resident_blocks(blocks), self.by_load(replica)),
        )
