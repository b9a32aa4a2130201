"""What is counted of a call site: tokens, the hit shares of its last requests, and whether they changed."""

from __future__ import annotations

from collections import deque
from math import fsum
from typing import Literal, NamedTuple

from keepwarm.watch.changes import ChangeTest

Origin = Literal["recorded", "simulated"]
ORIGINS: tuple[Origin, ...] = ("recorded", "simulated")
LAST_REQUESTS = 20
"""Requests of the window ``last``."""


class Tokens(NamedTuple):
    """A request's prompt and what of it was a hit, in the tokens of one origin."""

    prompt: int
    hit: int


class OriginMeter:
    """Tokens and shares as the server recorded them, or as they were simulated: never mixed."""

    def __init__(self) -> None:
        self.prompt_tokens = 0
        self.hit_tokens = 0
        self.test = ChangeTest()
        self._last: deque[float] = deque(maxlen=LAST_REQUESTS)

    @property
    def last(self) -> float | None:
        """The mean hit share of the last requests; None before they are as many."""
        return fsum(self._last) / len(self._last) if len(self._last) == LAST_REQUESTS else None

    def add(self, tokens: Tokens) -> None:
        """Count a request. Mutates."""
        self.prompt_tokens += tokens.prompt
        self.hit_tokens += tokens.hit
        if tokens.prompt:
            share = min(tokens.hit / tokens.prompt, 1.0)
            self._last.append(share)
            self.test.add(share)


class SiteMeter:
    """One call site. ``name`` is fit to be shown: no prompt text."""

    def __init__(self, site: str, name: str) -> None:
        self.site = site
        self.name = name
        self.requests = 0
        self.origins: dict[Origin, OriginMeter] = {origin: OriginMeter() for origin in ORIGINS}

    def add(self, simulated: Tokens, recorded: Tokens | None) -> None:
        """Count a request; ``recorded`` is None where the server said nothing. Mutates."""
        self.requests += 1
        self.origins["simulated"].add(simulated)
        if recorded is not None:
            self.origins["recorded"].add(recorded)
