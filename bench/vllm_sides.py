"""What comparisons inside vLLM share: sides that take turns on the same requests; runs where vLLM is.

Each side is a scheduler in a process of its own, as servers are: within one, Python's specialised
instructions would be torn between the classes of the sides. They are forked from one, so that all begin with
the same memory, hash seed and addresses, and never run at the same time.
"""

from __future__ import annotations

import gc
import multiprocessing
import random
import statistics
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tests.vllm.real import RealServer

STOCK, AGAIN = "stock", "stock_again"


def _clock_ns() -> int:
    """What reading the clock adds to what lies between two readings."""
    clock = time.thread_time_ns
    return round(statistics.median(-(clock() - clock()) for _ in range(2_001)))


_CLOCK_NS = _clock_ns()


class Side(ABC):
    """One scheduler, never short of requests, and the CPU time of its steps."""

    def __init__(self, server: RealServer) -> None:
        self._server = server
        del server.pool._emit_block_removed_events  # where the tests listen
        self.tokens = self.running = self.preemptions = 0

    @abstractmethod
    def begin(self, kind: str) -> None:
        """Do work of that kind until nothing else is under way."""

    @abstractmethod
    def turn_steps(self, kind: str) -> int:
        """Steps before the next side has its turn."""

    @abstractmethod
    def refill(self) -> None:
        """Let requests arrive; what it takes is not counted."""

    @abstractmethod
    def faults(self) -> dict[str, int]:
        """How often what failed, where something did."""

    def ended(self, request_id: str) -> None:
        """A request has ended; not counted either."""
        self._server.forget(request_id)

    def done(self) -> dict[str, Any]:
        """What it has done so far, as counts."""
        return {"tokens": self.tokens, "running": self.running, "preemptions": self.preemptions}

    def run(self, steps: int) -> int:
        """CPU ns within ``schedule`` and ``update_from_output``; who ends is replaced outside the clock."""
        server, scheduler, clock = self._server, self._server.scheduler, time.thread_time_ns
        spent_ns = 0
        for _ in range(steps):
            self.refill()
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
            for out in (out for group in outputs.values() for out in group.outputs if out.finish_reason):
                self.ended(out.request_id)
        return spent_ns - 2 * steps * _CLOCK_NS


class Turns(NamedTuple):
    """What each side had done before its turns on one kind of work and after them, and how long they took."""

    before: dict[str, dict[str, Any]]
    after: dict[str, dict[str, Any]]
    times_ns: dict[str, list[int]]
    steps: int  # of a turn

    def done(self, name: str, key: str) -> float:
        """How much of that a side did in its turns."""
        return float(self.after[name][key] - self.before[name][key])

    def per_step(self, name: str, key: str) -> float:
        """The same for each of its steps."""
        return self.done(name, key) / (len(self.times_ns[name]) * self.steps)

    def stock_us_per_step(self) -> float:
        """Median of the stock side."""
        return round(statistics.median(self.times_ns[STOCK]) / self.steps / 1e3, 1)


def take_turns(
    make: Mapping[str, Callable[[], Side]], kinds: Sequence[str], rounds: int
) -> Iterator[tuple[str, Turns]]:
    """Each kind of work with the turns of all sides, in an order of their own each round.

    Raises ``ValueError`` if a side had faults.
    """
    workers: dict[str, _Worker] = {}
    try:
        for name, made in make.items():  # one after another: starting takes both cores
            workers[name] = _Worker(made)
            workers[name].ask("done")
        for kind in kinds:
            yield kind, _turns(workers, kind, rounds)
    finally:
        for worker in workers.values():
            worker.end()


def _turns(workers: Mapping[str, _Worker], kind: str, rounds: int) -> Turns:
    rng, names = random.Random(rounds), list(workers)
    before = {name: worker.ask(f"begin {kind}") for name, worker in workers.items()}
    times_ns: dict[str, list[int]] = {name: [] for name in names}
    steps = 0
    for _ in range(rounds):
        rng.shuffle(names)
        for name in names:
            answer = workers[name].ask(f"run {kind}")
            times_ns[name].append(answer["time_ns"])
            steps = answer["steps"]
    after = {name: worker.ask("done") for name, worker in workers.items()}
    faulty = {name: found["faults"] for name, found in after.items() if found["faults"]}
    if faulty:
        raise ValueError(f"faults: {faulty}")
    return Turns(before, after, times_ns, steps)


def ratio(ours_ns: Sequence[float], stock_ns: Sequence[float]) -> list[float]:
    """Median of the paired ratios and its 95% interval, by order statistics."""
    ratios = sorted(ours / stock for ours, stock in zip(ours_ns, stock_ns, strict=True))
    half = 0.98 * len(ratios) ** 0.5  # 1.96 standard deviations of a fair coin's count
    low, high = int(len(ratios) / 2 - half), int(len(ratios) / 2 + half)
    low, high = max(0, low), min(high, len(ratios) - 1)
    return [round(value, 4) for value in (statistics.median(ratios), ratios[low], ratios[high])]


def _serve(make: Callable[[], Side], line: Connection) -> None:
    """The process of one side: does what each message says, and answers with counts."""
    side = make()
    while message := line.recv():
        verb, _, kind = message.partition(" ")
        if verb == "run":
            steps = side.turn_steps(kind)
            line.send({"time_ns": side.run(steps), "steps": steps})
            gc.collect()
            continue
        if verb == "begin":
            side.begin(kind)
            gc.collect()
            gc.freeze()  # what lives on is not looked at again, as in a server that has started
            gc.disable()
        line.send({**side.done(), "faults": side.faults()})


class _Worker:
    """``_serve`` in a fork."""

    def __init__(self, make: Callable[[], Side]) -> None:
        import tests.vllm.real  # noqa: F401 - and vLLM, once for all sides

        forked = multiprocessing.get_context("fork")
        self._line, its_end = forked.Pipe()
        self._process = forked.Process(target=_serve, args=(make, its_end), daemon=True)
        self._process.start()
        its_end.close()

    def ask(self, message: str) -> dict[str, Any]:
        """Its answer; ``EOFError`` if it has ended."""
        self._line.send(message)
        return dict(self._line.recv())

    def end(self) -> None:
        """Wait until it has gone."""
        with suppress(OSError):
            self._line.send("")
        self._process.join()
