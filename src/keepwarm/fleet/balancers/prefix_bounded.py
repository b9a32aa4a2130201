"""The replica that has most of the prompt, unless it is loaded too far beyond the mean; then the next best.

The bound is that of consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam, SODA 2018), with
loads in tokens and as they are before the request: a factor of the mean load, 1.25 unless told otherwise.
"""

from __future__ import annotations

from typing import ClassVar

from keepwarm.fleet.balancers.base import Arrival
from keepwarm.fleet.balancers.longest_prefix import LongestPrefix


class PrefixBounded(LongestPrefix):
    """Never chooses a replica with more than ``load_bound`` times the mean load; the least loaded has not."""

    name: ClassVar[str] = "prefix-bounded"

    def choose(self, arrival: Arrival) -> int:
        loads = [replica.load_tokens for replica in self.replicas]
        most_tokens = self.load_bound * sum(loads) / len(loads)
        allowed = (replica for replica in self.in_order(arrival) if loads[replica] <= most_tokens)
        return next(allowed, loads.index(min(loads)))  # the mean may round to less than the least
