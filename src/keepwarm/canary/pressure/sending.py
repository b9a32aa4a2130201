"""Requests sent one after another, each held against the server's own counters."""

from __future__ import annotations

import time
from collections import Counter
from typing import NamedTuple

from keepwarm._errors import ServerError
from keepwarm.canary.pressure.options import PressureOptions
from keepwarm.canary.pressure.prompts import Prompts
from keepwarm.canary.pressure.report import Failure, HotReplay
from keepwarm.canary.pressure.sizing import FLOOD_OUTPUT_TOKENS, TAIL_TOKENS, Sizes
from keepwarm.server.client import RequestFailed, VllmClient
from keepwarm.server.metrics import Metrics
from keepwarm.server.stream import Generated

# The API server passes the tokens of an engine step on just before it counts them.
_COUNTER_TRIES = 10
_COUNTER_PAUSE_S = 0.1
# A server that hangs would cost the whole time limit for each request.
_MOST_FAILURES_IN_A_ROW = 5


class Flooded(NamedTuple):
    """A batch of one-use requests: what they hit by the counters, and each one's TTFT, None if it failed."""

    cached_tokens: int
    ttfts_s: tuple[float | None, ...]


class Sender:
    """Sends hot and one-use requests and keeps what went wrong: failures and contradictions.

    All methods raise ServerError: ``/metrics`` cannot be read, usage is not told in full, or five requests in
    a row failed.
    """

    def __init__(
        self, client: VllmClient, model: str, sizes: Sizes, prompts: Prompts, options: PressureOptions
    ) -> None:
        self._client = client
        self._model = model
        self._sizes = sizes
        self._prompts = prompts
        self._options = options
        self._hot_prefix = prompts.one_use(sizes.hot_tokens)
        self._failures: Counter[str] = Counter()
        self._failed_in_a_row = 0
        self.inconsistencies: list[str] = []

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Why requests failed, the most frequent reason first."""
        return tuple(Failure(reason=reason, requests=n) for reason, n in self._failures.most_common())

    def metrics(self) -> Metrics:
        """A scrape."""
        return Metrics.parsed(self._client.metrics_text(), self._client.name)

    def hot(self, where: str) -> HotReplay | None:
        """The hot prefix with a fresh tail, None if that failed; ``where`` is its name in contradictions."""
        prompt = [*self._hot_prefix, *self._prompts.tail(TAIL_TOKENS)]
        earlier = self.metrics().hit_tokens()
        generated = self._complete(where, prompt, self._options.output_tokens)
        if generated is None:
            return None
        cached = self._cached(generated)
        counted = self._counted(where, earlier, cached)
        return HotReplay(
            cached_tokens=cached,
            counter_cached_tokens=counted,
            ttft_s=generated.ttft_s,
            text=generated.text,
        )

    def flood(self, where: str, requests: int) -> Flooded:
        """``requests`` prompts that nobody sends twice."""
        earlier = self.metrics().hit_tokens()
        cached = 0
        ttfts_s: list[float | None] = []
        for _ in range(requests):
            prompt = self._prompts.one_use(self._sizes.flood_tokens)
            generated = self._complete(where, prompt, FLOOD_OUTPUT_TOKENS)
            ttfts_s.append(None if generated is None else generated.ttft_s)
            cached += 0 if generated is None else self._cached(generated)
        counted = self._counted(where, earlier, cached)
        if cached:
            self.inconsistencies.append(
                f"{where}: the one-use prompts hit {cached} tokens, so they were not new; "
                "take another --seed, or let the cache be reset"
            )
        return Flooded(counted, tuple(ttfts_s))

    def _complete(self, where: str, prompt: list[int], output_tokens: int) -> Generated | None:
        try:
            generated = self._client.complete(
                self._model, prompt, output_tokens=output_tokens, seed=self._options.seed
            )
        except RequestFailed as failure:
            self._failures[str(failure)] += 1
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= _MOST_FAILURES_IN_A_ROW:
                raise ServerError(
                    f"{where}: {self._failed_in_a_row} requests in a row failed, the last with "
                    f"{str(failure)!r}; look at the log of {self._client.name}"
                ) from failure
            return None
        self._failed_in_a_row = 0
        if generated.prompt_tokens != len(prompt):
            self.inconsistencies.append(
                f"{where}: {len(prompt)} tokens were sent, the server counted {generated.prompt_tokens}"
            )
        return generated

    def _cached(self, generated: Generated) -> int:
        if generated.cached_tokens is None:
            raise ServerError(
                f"{self._client.name} does not say how many tokens it served from the cache; "
                "start it with --enable-prompt-tokens-details"
            )
        return generated.cached_tokens

    def _counted(self, where: str, earlier: int, expected: int) -> int:
        """By how much the hit counters rose; one that lags is given a second to agree with ``expected``."""
        for attempt in range(_COUNTER_TRIES):
            if attempt:
                time.sleep(_COUNTER_PAUSE_S)
            rise = self.metrics().hit_tokens() - earlier
            if rise >= expected:
                break
        if rise != expected:
            self.inconsistencies.append(
                f"{where}: usage says {expected} cached tokens, the server's counters {rise}; "
                "does anybody else use this server?"
            )
        return rise
