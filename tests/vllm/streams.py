"""Seeded random request streams, made to collide: few distinct tokens, few prefixes, small caches.

A stream is one server with random limits and ``requests`` requests that arrive in bursts between steps.
Equal seeds give equal streams.
"""

from __future__ import annotations

import random

from keepwarm.serving.base import ServerConfig
from tests.vllm.lockstep import Lockstep
from tests.vllm.real import Call

BLOCK_SIZES = (8, 8, 8, 16, 16, 32, 64)
KEPT_CALLS = 24  # finished or not, that later ones may continue


def random_config(rng: random.Random) -> ServerConfig:
    """Limits of a small server: 2 to some hundred blocks, and any mix of the settings that matter."""
    block_size = rng.choice(BLOCK_SIZES)
    longest_blocks = rng.choice([rng.randint(2, 4), rng.randint(2, 24)])
    tokens = longest_blocks * block_size - rng.randint(0, block_size - 4)
    room = rng.choice([1.0, 1.5, 2.5, 6.0])  # how many of the longest requests fit
    capacity_blocks = max(longest_blocks, min(128, int(room * longest_blocks) + rng.randint(0, 2)))
    if rng.random() < 0.05:
        capacity_blocks = rng.randint(129, 400)
    most_running = rng.choice([1, 2, 4, 8, 16, 32])
    step_tokens = max(most_running, rng.choice([block_size // 2, 4 * block_size, 512, 2048, 2048]))
    long_prefill_tokens = rng.choice([0, 0, rng.randint(1, tokens)])
    watermark = rng.choice([0.0, 0.0, round(rng.uniform(0, 0.5), 3)])
    return ServerConfig(
        block_size, capacity_blocks, tokens, most_running, step_tokens, long_prefill_tokens, watermark
    )


class RandomStream:
    """Arrivals of one stream, drawn as it goes."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.config = random_config(rng)
        self._alphabet = rng.choice([2, 4, 1000])
        longest = self.config.max_request_tokens - 1
        self._prefixes = [self._tokens(rng.randint(1, longest)) for _ in range(rng.randint(1, 6))]
        self._mean_output = rng.choice([0.3, 1, 2, self.config.block_size / 2])
        self._longest_tail = rng.choice([2, self.config.block_size, 4 * self.config.block_size])
        self._isolated = rng.random() < 0.3  # salts and adapters
        self._calls: list[Call] = []
        self._serial = 0

    def call(self) -> Call:
        """The next request: a twin, the next turn of an earlier one, or a prefix with something behind it."""
        rng, longest = self.rng, self.config.max_request_tokens - 1
        kind = rng.random()
        parent = rng.choice(self._calls) if self._calls else None
        if parent and kind < 0.15:
            prompt = parent.prompt
        elif parent and kind < 0.45:
            prompt = parent.prompt + parent.output + self._tokens(rng.randint(1, self._longest_tail))
        else:
            prefix = rng.choice(self._prefixes)
            prompt = prefix[: rng.randint(0, len(prefix))] + self._tokens(rng.randint(1, self._longest_tail))
        prompt = prompt[:longest]
        self._serial += 1
        call = Call(
            str(self._serial),
            prompt,
            self._answer(prompt),
            salt=rng.choice([None, None, "a", "b"]) if self._isolated else None,
            lora=rng.choice([None, None, "a", "b"]) if self._isolated else None,
            skip_reads=rng.random() < 0.03,
        )
        self._calls.append(call)
        del self._calls[:-KEPT_CALLS]
        return call

    def _answer(self, prompt: list[int]) -> list[int]:
        """Long or short by chance; its tokens follow from the prompt, as with a greedy model."""
        length = min(1 + int(self.rng.expovariate(1 / self._mean_output)), 4 * self.config.block_size)
        start = sum(prompt) + len(prompt)
        return [(start + 7 * index) % self._alphabet for index in range(length)]

    def _tokens(self, length: int) -> list[int]:
        return self.rng.choices(range(self._alphabet), k=length)

    def some_earlier_id(self) -> str:
        """A request that may wait, run or be over."""
        return self.rng.choice(self._calls).id if self._calls else "none"


def play(seed: int, requests: int) -> Lockstep:
    """Run a whole stream on both sides; returns what was compared. Raises ``Difference``."""
    stream = RandomStream(seed)
    rng, both = stream.rng, Lockstep(stream.config)
    most_in_flight = rng.choice([2, 16, 48])
    while both.counts["requests"] < requests:
        if len(both.model) < most_in_flight:
            for _ in range(rng.choice([1, 1, 2, 5])):
                both.add(stream.call())
        for _ in range(rng.choice([0, 1, 1, 2])):
            both.step()
        event = rng.random()
        if event < 0.01:
            both.abort(stream.some_earlier_id())
        elif event < 0.012:
            both.reset_cache(preempt_running=rng.random() < 0.3)
        elif event < 0.013:
            both.drain()
            both.reset_cache()
    both.drain()
    return both
