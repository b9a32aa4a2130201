"""What happened in a run, and in the part of it that is measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from keepwarm.serving.base import RequestState
from keepwarm.serving.clients import Client


@dataclass(slots=True)
class Served:
    """One request from its arrival to its end. ``turn`` is its number within the session."""

    client: Client
    turn: int
    state: RequestState
    arrival_s: float
    admitted_s: float = -1.0
    first_token_s: float = -1.0
    end_s: float = -1.0

    @property
    def latency_s(self) -> float:
        """From arrival to the last token."""
        return self.end_s - self.arrival_s

    @property
    def ttft_s(self) -> float:
        """From arrival to the first token."""
        return self.first_token_s - self.arrival_s

    @property
    def queue_wait_s(self) -> float:
        """From arrival to the first admission."""
        return self.admitted_s - self.arrival_s


class Counts(NamedTuple):
    """Totals since the start of a run. ``tokens``: prompts and answers of the requests that ended."""

    at_s: float = 0.0
    steps: int = 0
    requests: int = 0
    tokens: int = 0
    query_tokens: int = 0
    hit_tokens: int = 0
    evicted_blocks: int = 0
    recomputed_blocks: int = 0
    reloaded_blocks: int = 0
    preemptions: int = 0
    probed_blocks: int = 0

    def since(self, before: Counts) -> Counts:
        """What was added; ``at_s`` is how long it took."""
        _, *counts = (int(now - then) for now, then in zip(self, before, strict=True))
        return Counts(self.at_s - before.at_s, *counts)


@dataclass(slots=True)
class Ledger:
    """What a run leaves behind.

    ``served`` are the requests of the measured sessions, in the order of their ends; ``window`` goes from
    the first start of a measured session to the last end of one, and counts everybody's.
    """

    served: list[Served] = field(default_factory=list)
    window: Counts = field(default_factory=Counts)
