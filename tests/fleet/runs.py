"""Small fleets, and a balancer that is watched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from keepwarm.fleet.balancers import BALANCERS
from keepwarm.fleet.balancers.base import Arrival, Balancer
from keepwarm.fleet.options import FleetOptions
from keepwarm.fleet.run import FleetLedger
from keepwarm.fleet.simulate import run_fleet
from keepwarm.serving.options import ServingOptions
from keepwarm.serving.profile import load_profile
from keepwarm.workload.base import Workload
from tests.serving.runs import BLOCK, session, turn

SERVER = ServingOptions(profile=load_profile("cpu-smollm2"), capacity_tokens=BLOCK * 40, step_tokens=24)


STARVING = ("cachewise", "longest-prefix")  # newcomers may wait for ever while others keep coming


class Choice(NamedTuple):
    """One request with what the balancer saw before it chose."""

    arrival: Arrival
    replica: int
    loads_tokens: list[int]
    resident_blocks: list[int]


class Watched(NamedTuple):
    ledger: FleetLedger
    choices: list[Choice]


def watch(workload: Workload, options: FleetOptions) -> Watched:
    """The run, and every choice of its balancer."""
    choices: list[Choice] = []
    base: Any = BALANCERS[options.balancer]

    class Watching(base):  # type: ignore[misc]
        def choose(self, arrival: Arrival) -> int:
            replicas = self.replicas
            loads = [replica.load_tokens for replica in replicas]
            resident = [replica.resident_blocks(arrival.lookup_blocks) for replica in replicas]
            chosen: int = super().choose(arrival)
            choices.append(Choice(arrival, chosen, loads, resident))
            return chosen

    balancer: type[Balancer] = Watching
    return Watched(run_fleet(workload, options, balancer=balancer), choices)


def fleet(balancer: str, replicas: int, sessions: int, **changes: Any) -> FleetOptions:
    return FleetOptions(
        server=replace(SERVER, sessions=sessions, **changes), replicas=replicas, balancer=balancer
    )


def growing(count: int, turns: int = 4) -> Workload:
    """Sessions that share nothing, each at its own pace; a request repeats the one before and adds to it."""
    made = []
    for number in range(count):
        blocks = range(1000 * number, 1000 * number + 4 + 2 * turns)
        made.append(
            session(
                f"s{number}",
                *(
                    turn(
                        (4 + 2 * step) * BLOCK + 1,
                        3,
                        blocks[: 4 + 2 * step],
                        (0.3 + 0.07 * number) * (step > 0),
                    )
                    for step in range(turns)
                ),
            )
        )
    return Workload(BLOCK, made)
