"""The replica that has most of the prompt, unless it is loaded too far beyond the mean; then the next best.

The bound is that of consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam, SODA 2018), with
loads in tokens and as they are before the request: a factor of the mean load, 1.25 unless told otherwise.
"""

from __future__ import annotations

from typing import ClassVar

from keepwarm.fleet.balancers.base import Arrival, Balancer


class PrefixBounded(Balancer):
    """Never chooses a replica with more than ``load_bound`` times the mean load; the least loaded has not."""

    name: ClassVar[str] = "prefix-bounded"

    def choose(self, arrival: Arrival) -> int:
        loads = [replica.load_tokens for replica in self.replicas]
        most_tokens = self.load_bound * sum(loads) / len(loads)
        least_tokens = min(loads)  # which the mean may round to less than
        allowed = [place for place, tokens in enumerate(loads) if tokens <= max(most_tokens, least_tokens)]
        return min(allowed, key=lambda place: (-self._resident_blocks(place, arrival), self.by_load(place)))

    def _resident_blocks(self, replica: int, arrival: Arrival) -> int:
        return self.replicas[replica].resident_blocks(arrival.lookup_blocks)
