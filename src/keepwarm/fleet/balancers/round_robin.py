"""One replica after the other, whatever comes."""

from __future__ import annotations

from itertools import cycle
from typing import Any, ClassVar

from keepwarm.fleet.balancers.base import Arrival, Balancer


class RoundRobin(Balancer):
    """Looks at nothing."""

    name: ClassVar[str] = "round-robin"

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._turns = cycle(range(len(self.replicas)))

    def choose(self, arrival: Arrival) -> int:  # noqa: ARG002 - the protocol's
        return next(self._turns)
