"""What to simulate: which server, how many of them, behind which balancer."""

from __future__ import annotations

from dataclasses import dataclass

from keepwarm._errors import InputError
from keepwarm.fleet.balancers import BALANCERS
from keepwarm.fleet.balancers.base import LOAD_BOUND
from keepwarm.serving.options import ServingOptions

MOST_REPLICAS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """One run. ``server``: of each replica, ``server.sessions`` being the sessions per replica."""

    server: ServingOptions
    replicas: int = 1
    balancer: str = "round-robin"
    load_bound: float = LOAD_BOUND

    def check(self) -> None:
        """Raise InputError for the first that makes no sense, but for what ``check_run`` looks at."""
        if not 1 <= self.replicas <= MOST_REPLICAS:
            raise InputError(f"replicas is {self.replicas!r}; give 1 to {MOST_REPLICAS}")
        if self.balancer not in BALANCERS:
            raise InputError(f"no balancer {self.balancer!r}; there are {', '.join(BALANCERS)}")
        if not 1 <= self.load_bound < float("inf"):
            raise InputError(f"load_bound is {self.load_bound!r}; give a factor of the mean load, 1 or more")
