"""vLLM's own ``Scheduler`` with and without the plugin, in turns on the same requests; runs where vLLM is.

``python -m bench.vllm_steps POOL_BLOCKS ROUNDS`` prints one JSON document, for ``plugin_overhead``. Each side
is a process of its own, as servers are: within one, Python's specialised instructions would be torn between
the classes of the sides. They are forked from one, take turns, and never run at the same time.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from keepwarm.serving.base import ServerConfig
from keepwarm.vllm.counters import FAULT_KINDS, private_counters
from keepwarm.vllm.pool import attach, hook
from keepwarm.vllm.settings import SCAN_LIMITS, Settings

RUNNING = 64
BLOCK_TOKENS = 16
BATCH_TOKENS = 8_192
NEVER_US = 10**9  # what a busy machine interrupts is no fault of the policy
STOCK, AGAIN = "stock", "stock_again"
SIDES: dict[str, Settings | None] = {
    STOCK: None,
    AGAIN: None,
    "lru": Settings(mode="lru"),
    "boundary": Settings("active", "boundary", SCAN_LIMITS["boundary"], decision_budget_us=NEVER_US),
    "window": Settings("active", "window", SCAN_LIMITS["window"], decision_budget_us=NEVER_US),
}


def _clock_ns() -> int:
    """What reading the clock adds to what lies between two readings."""
    clock = time.thread_time_ns
    return round(statistics.median(-(clock() - clock()) for _ in range(2_001)))


CLOCK_NS = _clock_ns()


class Work(NamedTuple):
    """Requests of one kind: ``twins`` in a row have the same prompt, whose full blocks are hit."""

    prompt_tokens: int
    output_tokens: int
    twins: int
    steps: int  # of one side before the next has its turn


# 128 blocks hold 64 requests of no more than 2 each; where four share a prompt, one of them is theirs.
DECODE = {
    128: Work(17, 24, twins=4, steps=48),
    8_192: Work(529, 512, twins=4, steps=48),
    50_000: Work(2_065, 1_024, twins=4, steps=48),
}
DECODE_ONE_USE = {
    128: Work(8, 24, twins=1, steps=48),
    8_192: Work(529, 512, twins=1, steps=48),
    50_000: Work(2_065, 1_024, twins=1, steps=48),
}
PREFILL = {
    128: Work(257, 1, twins=1, steps=8),
    8_192: Work(1_025, 1, twins=1, steps=8),
    50_000: Work(1_025, 1, twins=1, steps=8),
}
KINDS = {"prefill": PREFILL, "decode": DECODE, "decode-one-use": DECODE_ONE_USE}


class Side:
    """One scheduler, never short of requests, and the CPU time of its steps."""

    def __init__(self, pool_blocks: int, settings: Settings | None) -> None:
        from vllm.v1.core.block_pool import BlockPool

        from tests.vllm.real import RealServer

        self.counters = private_counters()
        if settings is not None:
            hook(BlockPool, lambda pool: attach(pool, settings, self.counters))
        longest_tokens = min((pool_blocks - 1) * BLOCK_TOKENS, BATCH_TOKENS)
        self._server = RealServer(
            ServerConfig(BLOCK_TOKENS, pool_blocks - 1, longest_tokens, RUNNING, BATCH_TOKENS)
        )
        del self._server.pool._emit_block_removed_events  # where the tests listen
        self._serial = count()
        self._arrivals: Iterator[tuple[list[int], int]] = iter(())
        self.tokens = self.running = self.preemptions = 0

    def begin(self, work: Work, seed: str) -> None:
        """From here on such requests arrive; the first 64 end one after another, not all at once."""
        self._arrivals = _arrivals(work, seed)

    def run(self, steps: int) -> int:
        """CPU ns within ``schedule`` and ``update_from_output``; who ends is replaced outside the clock."""
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
        return spent_ns - 2 * steps * CLOCK_NS

    def done(self) -> dict[str, Any]:
        """What it has done so far, as counts."""
        get = self.counters.get
        return {
            "tokens": self.tokens,
            "running": self.running,
            "preemptions": self.preemptions,
            "evicted": get("evicted_hit") + get("evicted_never_hit"),
            "demoted": get("demoted_blocks"),
            "protected": get("protected_blocks"),
            "decision_ns": get("decision_time_ns"),
            "faults": {kind: get(f"fault_{kind}") for kind in FAULT_KINDS if get(f"fault_{kind}")},
        }

    def _refill(self) -> None:
        from tests.vllm.real import Call

        for _ in range(RUNNING - len(self._server.requests)):
            prompt, output_tokens = next(self._arrivals)
            self._server.add(Call(str(next(self._serial)), prompt, [0] * output_tokens))


def _arrivals(work: Work, seed: str) -> Iterator[tuple[list[int], int]]:
    rng = random.Random(seed)
    for index in count():
        if index % work.twins == 0:
            prompt = rng.choices(range(1_000), k=work.prompt_tokens)
        share = min(1.0, (index + 1) / RUNNING)
        yield prompt, max(1, round(share * work.output_tokens))


def _warm(side: Side, pool_blocks: int) -> None:
    """Fill the pool with content, the protected part up to its share, then the rest with one-use blocks."""
    prefill = PREFILL[pool_blocks]
    steps = 4 + 3 * pool_blocks * BLOCK_TOKENS // BATCH_TOKENS
    for work in (prefill._replace(twins=2), prefill):
        side.begin(work, f"warm {work.twins}")
        side.run(steps)


def serve(make: Callable[[], Side], pool_blocks: int, line: Connection) -> None:
    """The process of one side: does what each message says, and answers with counts."""
    side = make()
    _warm(side, pool_blocks)
    while message := line.recv():
        verb, _, kind = message.partition(" ")
        if verb == "done":
            line.send(side.done())
            continue
        work = KINDS[kind][pool_blocks]
        if verb == "begin":
            side.begin(work, kind)
            side.run(RUNNING + 2 * work.output_tokens)  # all of the earlier kind are gone, and the first 64
            gc.collect()
            gc.freeze()  # what lives on is not looked at again, as in a server that has started
            gc.disable()
            line.send(side.done())
        else:
            line.send({"time_ns": side.run(work.steps)})
            gc.collect()


class Worker:
    """``serve(*arguments, line)`` in a fork: all begin with the same memory, hash seed and addresses."""

    def __init__(self, serve: Callable[..., None], *arguments: object) -> None:
        import tests.vllm.real  # noqa: F401 - and vLLM, once for all sides

        forked = multiprocessing.get_context("fork")
        self._line, its_end = forked.Pipe()
        self._process = forked.Process(target=serve, args=(*arguments, its_end), daemon=True)
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


def measure(pool_blocks: int, rounds: int) -> dict[str, object]:
    """All kinds of work at one size; ``ValueError`` if the sides did not do the same work, or had faults."""
    workers: dict[str, Worker] = {}
    try:
        for name, settings in SIDES.items():  # one after another: starting takes both cores
            workers[name] = Worker(serve, partial(Side, pool_blocks, settings), pool_blocks)
            workers[name].ask("done")
        return {kind: _compare(workers, kind, pool_blocks, rounds) for kind in KINDS}
    finally:
        for worker in workers.values():
            worker.end()


def _compare(workers: dict[str, Worker], kind: str, pool_blocks: int, rounds: int) -> dict[str, object]:
    rng, names = random.Random(rounds), list(workers)
    before = {name: worker.ask(f"begin {kind}") for name, worker in workers.items()}
    times_ns: dict[str, list[int]] = {name: [] for name in names}
    for _ in range(rounds):
        rng.shuffle(names)
        for name in names:
            times_ns[name].append(workers[name].ask(f"run {kind}")["time_ns"])
    after = {name: worker.ask("done") for name, worker in workers.items()}
    faulty = {name: found["faults"] for name, found in after.items() if found["faults"]}
    if faulty:
        raise ValueError(f"faults: {faulty}")
    done = {
        name: {key: found[key] - before[name][key] for key in ("tokens", "running", "preemptions")}
        for name, found in after.items()
    }
    if any(work != done[STOCK] for work in done.values()):
        raise ValueError(f"the sides did different work: {done}")
    steps_of_a_turn = KINDS[kind][pool_blocks].steps
    steps = rounds * steps_of_a_turn
    # A process may be some per cent slower than its twin, whatever it runs: both stock ones are taken.
    stock_ns = [sum(pair) / 2 for pair in zip(times_ns[STOCK], times_ns[AGAIN], strict=True)]
    plugin, earlier = after["boundary"], before["boundary"]
    return {
        "stock_us_per_step": round(statistics.median(times_ns[STOCK]) / steps_of_a_turn / 1e3, 1),
        "requests_per_step": round(done[STOCK]["running"] / steps, 1),
        "tokens_per_step": round(done[STOCK]["tokens"] / steps, 1),
        "preemptions": done[STOCK]["preemptions"],
        "evicted_per_step": round((plugin["evicted"] - earlier["evicted"]) / steps, 2),
        "demoted_per_step": round((plugin["demoted"] - earlier["demoted"]) / steps, 2),
        "protected_blocks": plugin["protected"],
        "decision_us_per_step": round((plugin["decision_ns"] - earlier["decision_ns"]) / steps / 1e3, 2),
        "ratios": {
            AGAIN: _ratio(times_ns[AGAIN], times_ns[STOCK]),
            **{name: _ratio(times_ns[name], stock_ns) for name in SIDES if name not in (STOCK, AGAIN)},
        },
    }


def _ratio(ours_ns: Sequence[float], stock_ns: Sequence[float]) -> list[float]:
    """Median of the paired ratios and its 95% interval, by order statistics."""
    ratios = sorted(ours / stock for ours, stock in zip(ours_ns, stock_ns, strict=True))
    half = 0.98 * len(ratios) ** 0.5  # 1.96 standard deviations of a fair coin's count
    low, high = int(len(ratios) / 2 - half), int(len(ratios) / 2 + half)
    return [round(value, 4) for value in (statistics.median(ratios), ratios[low], ratios[high])]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))
