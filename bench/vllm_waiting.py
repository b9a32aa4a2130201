"""vLLM's own ``Scheduler`` with and without a queue order of ours, 200 waiting; runs where vLLM is.

``python -m bench.vllm_waiting CASE ROUNDS`` prints one JSON document, for ``scheduler_overhead``. Each side
is a process of its own, as in ``vllm_sides``; they take turns on the same requests. Every request is a
session of its own that is told to be over when it ends, and all begin with the same cached blocks, so that
every order is that of arrival: what differs is only what deciding costs.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.vllm_sides import AGAIN, STOCK, Side, Turns, ratio, take_turns
from keepwarm.serving.base import ServerConfig

if TYPE_CHECKING:
    from tests.vllm.real import RealServer

WAITING = 200
BLOCK_TOKENS = 16
STEP_TOKENS = 2_048
STEPS = 48  # of one side before the next has its turn
SIDES = (STOCK, AGAIN, "fcfs", "cachewise", "active-set")


class Case(NamedTuple):
    """What keeps 200 requests waiting. Prompts are ``prompt_tokens`` long, a quarter of them shared."""

    capacity_blocks: int
    most_running: int
    sides: tuple[str, ...] = SIDES
    prompt_tokens: int = 2_048
    output_tokens: int = 256


CASES = {
    "slots": Case(16_384, 64),  # as many run as may run; the active set has room for more
    # The first that waits does not fit. An active set would have half as many run, and is no comparison.
    "memory": Case(8_192, 256, SIDES[:-1]),
    "set": Case(8_192, 32),  # as many run as the active set has room for
}


class WaitingSide(Side):
    """One scheduler with 200 requests waiting."""

    def __init__(self, server: RealServer, case: Case) -> None:
        super().__init__(server)
        self._desk = getattr(server.scheduler, "cachewise", None)
        self._arrivals = _arrivals(case)

    def begin(self, kind: str) -> None:
        del kind  # there is one
        self.run(600)

    def turn_steps(self, kind: str) -> int:
        del kind
        return STEPS

    def ended(self, request_id: str) -> None:
        super().ended(request_id)
        if self._desk is not None:
            self._desk.state.table.finish(request_id)

    def done(self) -> dict[str, Any]:
        reordered, probes = 0, 0
        if self._desk is not None:
            reordered = self._desk.state.counters.get("reordered_admissions")
            probes = self._desk.view.probes
        return {**super().done(), "reordered": reordered, "probes": probes}

    def faults(self) -> dict[str, int]:
        if self._desk is None:
            return {}
        from keepwarm.vllm.serving.counters import SERVING_FAULT_KINDS

        found = {kind: self._desk.state.counters.get(f"fault_{kind}") for kind in SERVING_FAULT_KINDS}
        return {kind: number for kind, number in found.items() if number}

    def refill(self) -> None:
        while len(self._server.scheduler.waiting) < WAITING:
            self._server.add(next(self._arrivals))


def _arrivals(case: Case) -> Iterator[Any]:
    from tests.vllm.real import Call

    rng = random.Random(1)
    shared = rng.choices(range(1_000), k=case.prompt_tokens // 4)
    for index in count():
        own = rng.choices(range(1_000), k=case.prompt_tokens - len(shared))
        # The first end one after another, not all at once.
        output_tokens = (
            case.output_tokens if index >= case.most_running else 1 + index * 4 % case.output_tokens
        )
        yield Call(str(index), shared + own, [0] * output_tokens, session=str(index))


def _make(name: str, case: Case) -> WaitingSide:
    from tests.vllm.real import RealServer

    config = ServerConfig(BLOCK_TOKENS, case.capacity_blocks, 8_192, case.most_running, STEP_TOKENS)
    if name in (STOCK, AGAIN):
        return WaitingSide(RealServer(config), case)
    from keepwarm.vllm.serving.scheduler import KeepwarmScheduler

    os.environ["KEEPWARM_SCHEDULING"] = name
    return WaitingSide(RealServer(config, KeepwarmScheduler), case)


def measure(case: str, rounds: int) -> dict[str, Any]:
    """Ratios to stock; ``ValueError`` for faults, or if a side's steps were not about as full as stock's."""
    sides = {name: partial(_make, name, CASES[case]) for name in CASES[case].sides}
    ((_, turns),) = take_turns(sides, ("waiting",), rounds)
    return _compared(turns)


def _compared(turns: Turns) -> dict[str, Any]:
    times_ns = turns.times_ns
    keys = ("tokens", "running", "preemptions", "reordered", "probes")
    done = {name: {key: round(turns.per_step(name, key), 2) for key in keys} for name in times_ns}
    if any(abs(work["running"] / done[STOCK]["running"] - 1) > 0.05 for work in done.values()):
        raise ValueError(f"the sides did different work: {done}")
    return {
        "stock_us_per_step": turns.stock_us_per_step(),
        "per_step": done,
        "ratios": {name: ratio(times_ns[name], times_ns[STOCK]) for name in times_ns if name != STOCK},
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
