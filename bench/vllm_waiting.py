"""vLLM's own ``Scheduler`` with and without a queue order of ours, 200 waiting; runs where vLLM is.

``python -m bench.vllm_waiting CASE ROUNDS`` prints one JSON document, for ``scheduler_overhead``. Each side
is a process of its own, as in ``vllm_steps``; they take turns on the same requests. Every request is a
session of its own that is told to be over when it ends, and all begin with the same cached blocks, so that
every order is that of arrival: what differs is only what deciding costs.
"""

from __future__ import annotations

import gc
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Iterator
from itertools import count
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from bench.vllm_steps import CLOCK_NS, Worker, _ratio
from keepwarm.serving.base import ServerConfig

WAITING = 200
BLOCK_TOKENS = 16
STEP_TOKENS = 2_048
STEPS = 48  # of one side before the next has its turn
STOCK = "stock"
SIDES = (STOCK, "stock_again", "fcfs", "cachewise", "active-set")


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


class WaitingSide:
    """One scheduler with 200 requests waiting, and the CPU time of its steps."""

    def __init__(self, name: str, case: Case) -> None:
        from tests.vllm.real import RealServer

        config = ServerConfig(BLOCK_TOKENS, case.capacity_blocks, 8_192, case.most_running, STEP_TOKENS)
        if name in {STOCK, "stock_again"}:
            self._server = RealServer(config)
        else:
            from keepwarm.vllm.serving.scheduler import KeepwarmScheduler

            os.environ["KEEPWARM_SCHEDULING"] = name
            self._server = RealServer(config, KeepwarmScheduler)
        del self._server.pool._emit_block_removed_events  # where the tests listen
        self._desk = getattr(self._server.scheduler, "cachewise", None)
        self._arrivals = _arrivals(case)
        self.tokens = self.running = self.preemptions = 0

    def run(self, steps: int) -> int:
        """CPU ns within ``schedule`` and ``update_from_output``; arrivals are outside the clock."""
        server, scheduler, clock = self._server, self._server.scheduler, time.thread_time_ns
        spent_ns = 0
        for _ in range(steps):
            self._refill()
            started_ns = clock()
            scheduled = scheduler.schedule()
            spent_ns += clock() - started_ns
            sampled = server._sampled(scheduled)
            started_ns = clock()
            outputs = scheduler.update_from_output(scheduled, sampled)
            spent_ns += clock() - started_ns
            self.tokens += scheduled.total_num_scheduled_tokens
            self.running += len(scheduled.num_scheduled_tokens)
            self.preemptions += len(scheduled.preempted_req_ids or ())
            for ended in (out for group in outputs.values() for out in group.outputs if out.finish_reason):
                server.forget(ended.request_id)
                if self._desk is not None:
                    self._desk.state.table.finish(ended.request_id)
        return spent_ns - 2 * steps * CLOCK_NS

    def done(self) -> dict[str, Any]:
        """What it has done so far, as counts."""
        faults, reordered, probes = 0, 0, 0
        if self._desk is not None:
            from keepwarm.vllm.serving.counters import SERVING_FAULT_KINDS

            get = self._desk.state.counters.get
            faults = sum(get(f"fault_{kind}") for kind in SERVING_FAULT_KINDS)
            reordered, probes = get("reordered_admissions"), self._desk.view.probes
        return {
            "tokens": self.tokens,
            "running": self.running,
            "preemptions": self.preemptions,
            "waiting": len(self._server.scheduler.waiting),
            "faults": faults,
            "reordered": reordered,
            "probes": probes,
        }

    def _refill(self) -> None:
        scheduler = self._server.scheduler
        while len(scheduler.waiting) < WAITING:
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


def serve(name: str, case: str, line: Connection) -> None:
    """The process of one side: does what each message says, and answers with counts."""
    side = WaitingSide(name, CASES[case])
    while verb := line.recv():
        if verb == "begin":
            side.run(600)
            gc.collect()
            gc.freeze()  # what lives on is not looked at again, as in a server that has started
            gc.disable()
            line.send(side.done())
        elif verb == "run":
            line.send({"time_ns": side.run(STEPS)})
            gc.collect()
        else:
            line.send(side.done())


def measure(case: str, rounds: int) -> dict[str, Any]:
    """Ratios to stock; ``ValueError`` for faults, or if a side's steps were not about as full as stock's."""
    workers: dict[str, Worker] = {}
    try:
        for name in CASES[case].sides:  # one after another: starting takes both cores
            workers[name] = Worker(serve, name, case)
            workers[name].ask("done")
        return _compare(workers, rounds)
    finally:
        for worker in workers.values():
            worker.end()


def _compare(workers: dict[str, Worker], rounds: int) -> dict[str, Any]:
    rng, names = random.Random(rounds), list(workers)
    before = {name: worker.ask("begin") for name, worker in workers.items()}
    times_ns: dict[str, list[int]] = {name: [] for name in names}
    for _ in range(rounds):
        rng.shuffle(names)
        for name in names:
            times_ns[name].append(workers[name].ask("run")["time_ns"])
    after = {name: worker.ask("done") for name, worker in workers.items()}
    steps = rounds * STEPS
    done = {
        name: {
            key: round((found[key] - before[name][key]) / steps, 2)
            for key in ("tokens", "running", "preemptions", "reordered", "probes")
        }
        for name, found in after.items()
    }
    faulty = {name: found["faults"] for name, found in after.items() if found["faults"]}
    if faulty:
        raise ValueError(f"faults: {faulty}")
    if any(abs(work["running"] / done[STOCK]["running"] - 1) > 0.05 for work in done.values()):
        raise ValueError(f"the sides did different work: {done}")
    return {
        "stock_us_per_step": round(statistics.median(times_ns[STOCK]) / STEPS / 1e3, 1),
        "per_step": done,
        "ratios": {name: _ratio(times_ns[name], times_ns[STOCK]) for name in workers if name != STOCK},
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
