"""vLLM's own ``Scheduler`` with and without the plugin, in turns on the same requests; runs where vLLM is.

``python -m bench.vllm_steps POOL_BLOCKS ROUNDS`` prints one JSON document, for ``plugin_overhead``.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.vllm_sides import AGAIN, STOCK, Side, Turns, ratio, take_turns
from keepwarm.serving.base import ServerConfig
from keepwarm.vllm.counters import FAULT_KINDS, Counters, private_counters
from keepwarm.vllm.pool import attach, hook
from keepwarm.vllm.settings import SCAN_LIMITS, Settings

if TYPE_CHECKING:
    from tests.vllm.real import RealServer

RUNNING = 64
BLOCK_TOKENS = 16
BATCH_TOKENS = 8_192
NEVER_US = 10**9  # what a busy machine interrupts is no fault of the policy
SIDES: dict[str, Settings | None] = {
    STOCK: None,
    AGAIN: None,
    "lru": Settings(mode="lru"),
    "boundary": Settings("active", "boundary", SCAN_LIMITS["boundary"], decision_budget_us=NEVER_US),
    "window": Settings("active", "window", SCAN_LIMITS["window"], decision_budget_us=NEVER_US),
}


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


def server_config(pool_blocks: int) -> ServerConfig:
    """Of the servers of all sides."""
    longest_tokens = min((pool_blocks - 1) * BLOCK_TOKENS, BATCH_TOKENS)
    return ServerConfig(BLOCK_TOKENS, pool_blocks - 1, longest_tokens, RUNNING, BATCH_TOKENS)


class StepsSide(Side):
    """64 requests run, and another comes for each that ends; the pool is full of content before."""

    def __init__(self, server: RealServer, pool_blocks: int, counters: Counters) -> None:
        super().__init__(server)
        self._pool_blocks = pool_blocks
        self._counters = counters
        self._serial = count()
        self._arrivals: Iterator[tuple[list[int], int]] = iter(())
        self._warm()

    def begin(self, kind: str) -> None:
        """From here on such requests arrive; the first 64 end one after another, not all at once."""
        work = KINDS[kind][self._pool_blocks]
        self._arrivals = _arrivals(work, kind)
        self.run(RUNNING + 2 * work.output_tokens)  # all of the earlier kind are gone, and the first 64

    def turn_steps(self, kind: str) -> int:
        return KINDS[kind][self._pool_blocks].steps

    def done(self) -> dict[str, Any]:
        get = self._counters.get
        return {
            **super().done(),
            "evicted": get("evicted_hit") + get("evicted_never_hit"),
            "demoted": get("demoted_blocks"),
            "protected": get("protected_blocks"),
            "decision_ns": get("decision_time_ns"),
        }

    def faults(self) -> dict[str, int]:
        found = {kind: self._counters.get(f"fault_{kind}") for kind in FAULT_KINDS}
        return {kind: number for kind, number in found.items() if number}

    def session(self, serial: int) -> str | None:
        """The session of a request."""
        del serial
        return None

    def refill(self) -> None:
        from tests.vllm.real import Call

        for _ in range(RUNNING - len(self._server.requests)):
            (prompt, output_tokens), serial = next(self._arrivals), next(self._serial)
            self._server.add(Call(str(serial), prompt, [0] * output_tokens, session=self.session(serial)))

    def _warm(self) -> None:
        """Fill the pool, the protected part up to its share, then the rest with one-use blocks."""
        prefill = PREFILL[self._pool_blocks]
        steps = 4 + 3 * self._pool_blocks * BLOCK_TOKENS // BATCH_TOKENS
        for work in (prefill._replace(twins=2), prefill):
            self._arrivals = _arrivals(work, f"warm {work.twins}")
            self.run(steps)


def _arrivals(work: Work, seed: str) -> Iterator[tuple[list[int], int]]:
    rng = random.Random(seed)
    for index in count():
        if index % work.twins == 0:
            prompt = rng.choices(range(1_000), k=work.prompt_tokens)
        share = min(1.0, (index + 1) / RUNNING)
        yield prompt, max(1, round(share * work.output_tokens))


def _make(pool_blocks: int, settings: Settings | None) -> StepsSide:
    from vllm.v1.core.block_pool import BlockPool

    from tests.vllm.real import RealServer

    counters = private_counters()
    if settings is not None:
        hook(BlockPool, lambda pool: attach(pool, settings, counters))
    return StepsSide(RealServer(server_config(pool_blocks)), pool_blocks, counters)


def measure(pool_blocks: int, rounds: int) -> dict[str, object]:
    """All kinds of work at one size; ``ValueError`` if the sides did not do the same work, or had faults."""
    sides = {name: partial(_make, pool_blocks, settings) for name, settings in SIDES.items()}
    return {kind: _compared(turns) for kind, turns in take_turns(sides, list(KINDS), rounds)}


def _compared(turns: Turns) -> dict[str, object]:
    done = {
        name: {key: turns.done(name, key) for key in ("tokens", "running", "preemptions")} for name in SIDES
    }
    if any(work != done[STOCK] for work in done.values()):
        raise ValueError(f"the sides did different work: {done}")
    # A process may be some per cent slower than its twin, whatever it runs: both stock ones are taken.
    times_ns = turns.times_ns
    stock_ns = [sum(pair) / 2 for pair in zip(times_ns[STOCK], times_ns[AGAIN], strict=True)]
    return {
        "stock_us_per_step": turns.stock_us_per_step(),
        "requests_per_step": round(turns.per_step(STOCK, "running"), 1),
        "tokens_per_step": round(turns.per_step(STOCK, "tokens"), 1),
        "preemptions": int(turns.done(STOCK, "preemptions")),
        "evicted_per_step": round(turns.per_step("boundary", "evicted"), 2),
        "demoted_per_step": round(turns.per_step("boundary", "demoted"), 2),
        "protected_blocks": turns.after["boundary"]["protected"],
        "decision_us_per_step": round(turns.per_step("boundary", "decision_ns") / 1e3, 2),
        "ratios": {
            AGAIN: ratio(times_ns[AGAIN], times_ns[STOCK]),
            **{name: ratio(times_ns[name], stock_ns) for name in SIDES if name not in (STOCK, AGAIN)},
        },
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))
