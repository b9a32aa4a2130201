"""What became of each request, in seconds of the simulated clock."""

from __future__ import annotations

from dataclasses import dataclass

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
    preemptions: int = 0

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
