"""A session stays where its first request went, which is where the load was least."""

from __future__ import annotations

from typing import ClassVar

from keepwarm.fleet.balancers.base import Arrival, Balancer


class Sticky(Balancer):
    """Asks the replicas whose session it is; one that all have forgotten is placed anew."""

    name: ClassVar[str] = "sticky"

    def choose(self, arrival: Arrival) -> int:
        replicas = range(len(self.replicas))
        home = (replica for replica in replicas if self.replicas[replica].has_served(arrival.session))
        found = next(home, None)
        return min(replicas, key=self.by_load) if found is None else found
