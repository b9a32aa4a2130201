"""Closed-loop clients: each session sends its next request a gap after the answer to the one before."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from keepwarm.policies.sessions import SessionId
from keepwarm.serving.base import RequestId, ServerRequest
from keepwarm.serving.population import Cast
from keepwarm.workload.base import SessionTrace, Turn


@dataclass(slots=True)
class Client:
    """One session; ``number`` counts sessions in the order of their start, ``sent`` its requests so far."""

    number: int
    trace: SessionTrace
    sent: int = 0
    due_s: float = 0.0  # when it sends the next

    @property
    def session(self) -> SessionId:
        """Whose requests these are."""
        return self.trace.id

    @property
    def next_turn(self) -> Turn | None:
        """What it asks next; None at its end."""
        return self.trace.turns[self.sent] if self.sent < len(self.trace.turns) else None

    def send(self) -> ServerRequest:
        """The next request. Mutates."""
        turn = self.trace.turns[self.sent]
        request_id = RequestId(f"{self.trace.id}/{self.sent}")
        self.sent += 1
        return ServerRequest(
            request_id, turn.prompt_tokens, max(1, turn.output_tokens), turn.blocks, session=self.trace.id
        )


class Clients:
    """All sessions that wait for their turn to send; who sends at the same time does so in order."""

    def __init__(self, cast: Cast, gap_scale: float) -> None:
        self._later = cast.later
        self.gap_scale = gap_scale
        self._due: list[tuple[float, int, Client]] = []
        self._appointments = 0
        self._started = 0
        for trace in cast.first:
            self._start(trace, 0.0)

    @property
    def next_s(self) -> float:
        """When the next request comes; infinite if none is due."""
        return self._due[0][0] if self._due else float("inf")

    def pop(self) -> Client:
        """Who sends next. Mutates; IndexError if nobody does."""
        return heappop(self._due)[2]

    def answered(self, client: Client, now_s: float) -> None:
        """The answer is there: the next request comes after its gap, or the next session starts. Mutates."""
        turn = client.next_turn
        if turn is not None:
            self._at(client, now_s + turn.gap_s * self.gap_scale)
            return
        trace = next(self._later, None)
        if trace is not None:
            self._start(trace, now_s)

    def _start(self, trace: SessionTrace, now_s: float) -> None:
        self._at(Client(self._started, trace), now_s)
        self._started += 1

    def _at(self, client: Client, due_s: float) -> None:
        client.due_s = due_s
        heappush(self._due, (due_s, self._appointments, client))
        self._appointments += 1
