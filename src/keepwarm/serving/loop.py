"""The virtual clock: clients send, the engine steps, and each step takes what its work costs.

Requests that arrive during a step are heard of at its end; answers leave at a step's end too. Where nothing
waits or runs, the clock jumps to the next arrival.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from keepwarm.scheduling.sessions import SessionTable
from keepwarm.serving.base import RequestId, StepResult
from keepwarm.serving.clients import Client, Clients
from keepwarm.serving.costs import Coefficients, pairs_within
from keepwarm.serving.glide import GlidingEngine
from keepwarm.serving.served import Served
from keepwarm.workload.base import Trigger


@dataclass(slots=True)
class Ledger:
    """What happened in a run. ``served`` are the requests that ended, in that order."""

    served: list[Served] = field(default_factory=list)
    steps: int = 0
    evicted_blocks: int = 0
    preemptions: int = 0
    end_s: float = 0.0


class Loop:
    """One run of one server and its clients, from time 0 on."""

    def __init__(self, engine: GlidingEngine, clients: Clients, costs: Coefficients) -> None:
        self.engine = engine
        self.sessions: SessionTable = engine.sessions
        self.clients = clients
        self.costs = costs
        self.now_s = 0.0
        self.ledger = Ledger()
        self._live: dict[RequestId, Served] = {}

    def run(self) -> Ledger:
        """Until the last session has ended. Mutates."""
        while self.advance():
            pass
        self.ledger.end_s = self.now_s
        return self.ledger

    def advance(self) -> bool:
        """One step of the engine; False if there is nothing left to do. Mutates."""
        clients = self.clients
        if not len(self.engine):
            if clients.next_s == float("inf"):
                return False
            self.now_s = max(self.now_s, clients.next_s)
        while clients.next_s <= self.now_s:
            self._send(clients.pop())
        result = self._glide()
        started_s = self.now_s
        if result is None:
            if clients.next_s <= started_s:
                return True
            result = self.engine.step(started_s)
        self.now_s = started_s + self._duration_s(result)
        self.engine.sessions.now_s = self.now_s
        self._note(result, started_s)
        return True

    def _glide(self) -> StepResult | None:
        """As many equal steps as there are; the result of one that was begun and admitted somebody."""
        glide = self.engine.glide(self.now_s, self.clients.next_s, self.costs)
        self.now_s = glide.now_s
        self.ledger.steps += glide.steps
        self.ledger.evicted_blocks += glide.evicted_blocks
        return glide.result

    def _send(self, client: Client) -> None:
        request = client.send()
        state = self.engine.add(request, client.due_s)
        self._live[request.id] = Served(client, client.sent - 1, state, client.due_s)

    def _duration_s(self, result: StepResult) -> float:
        tokens = pairs = context_tokens = 0
        for request_id, chunk in result.scheduled.items():
            after = self._live[request_id].state.computed_tokens
            tokens += chunk
            pairs += chunk * (after - chunk) + pairs_within(chunk)
            context_tokens += after
        return self.costs.step_s(tokens, pairs, context_tokens)

    def _note(self, result: StepResult, started_s: float) -> None:
        ledger = self.ledger
        ledger.steps += 1
        ledger.evicted_blocks += len(result.evicted)
        ledger.preemptions += len(result.preempted)
        for request_id in result.hit_tokens:
            served = self._live[request_id]
            if served.admitted_s < 0:
                served.admitted_s = started_s
        for request_id in result.scheduled:
            served = self._live[request_id]
            if served.first_token_s < 0 and served.state.known_tokens > served.state.request.prompt_tokens:
                served.first_token_s = self.now_s
        for request_id in result.finished:
            self._finish(self._live.pop(request_id))

    def _finish(self, served: Served) -> None:
        """The answer is there; the session says what it does next, as a client that sends hints would."""
        served.end_s, served.preemptions = self.now_s, served.state.preemptions
        self.ledger.served.append(served)
        client, turn = served.client, served.client.next_turn
        if turn is None:
            self.sessions.finish(client.session)
        elif turn.trigger is Trigger.HUMAN:
            self.sessions.awaits_human(client.session, self.now_s)
        else:
            self.sessions.doing(client.session, turn.call, self.now_s)
        self.clients.answered(client, self.now_s)
