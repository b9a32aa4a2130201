"""The virtual clock: clients send, the engine steps, and each step takes what its work costs.

Requests that arrive during a step are heard of at its end; answers leave at a step's end too. Where nothing
waits or runs, the clock jumps to the next arrival. Sessions tell what they do next, as clients that send
hints would: which tool runs, that a person has to answer, that they are finished.
"""

from __future__ import annotations

from keepwarm.policies.sessions import SessionId, SessionVictimOrder
from keepwarm.serving.base import RequestId, StepResult
from keepwarm.serving.clients import Client, Clients
from keepwarm.serving.costs import Coefficients, pairs_within
from keepwarm.serving.glide import GlidingEngine
from keepwarm.serving.ledger import Counts, Ledger, Served
from keepwarm.workload.base import Trigger


class Loop:
    """One run of one server and its clients, from time 0 until the last measured session has ended.

    ``gaps_s`` holds how long each idle session will have been idle when it comes back. With ``tells_humans``
    unset, waiting for a person is said to be a call like any other.
    """

    def __init__(
        self,
        engine: GlidingEngine,
        clients: Clients,
        costs: Coefficients,
        measured: range,
        *,
        gaps_s: dict[SessionId, float] | None = None,
        tells_humans: bool = True,
    ) -> None:
        self.engine = engine
        self.clients = clients
        self.costs = costs
        self.now_s = 0.0
        self.steps = self.evicted_blocks = self.preemptions = 0
        self.ended_requests = self.ended_tokens = 0
        policy = engine.pool.policy
        self._by_session = policy if isinstance(policy, SessionVictimOrder) else None
        self._gaps_s = {} if gaps_s is None else gaps_s
        self._tells_humans = tells_humans
        self._measured = measured
        self._to_end = len(measured)  # measured sessions that have not ended
        self._since: Counts | None = None  # when the first of them started
        self._ledger = Ledger()
        self._live: dict[RequestId, Served] = {}

    def run(self) -> Ledger:
        """Mutates."""
        while self._to_end and self.advance():
            pass
        self._ledger.window = self._counts().since(self._since or Counts())
        return self._ledger

    def advance(self) -> bool:
        """Steps of the engine up to the next event; False if there is nothing left to do. Mutates."""
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
        self.now_s = started_s + self._duration_s(result) + self.engine.take_reload_s()
        self.engine.sessions.now_s = self.now_s
        self._note(result, started_s)
        return True

    def _glide(self) -> StepResult | None:
        """As many equal steps as there are; the result of one that was begun and admitted somebody."""
        glide = self.engine.glide(self.now_s, self.clients.next_s, self.costs)
        self.now_s = glide.now_s
        self.steps += glide.steps
        self.evicted_blocks += glide.evicted_blocks
        return glide.result

    def _send(self, client: Client) -> None:
        if self._since is None and client.number in self._measured:
            self._since = self._counts()
        self._gaps_s.pop(client.session, None)
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
        self.steps += 1
        self.evicted_blocks += len(result.evicted)
        self.preemptions += len(result.preempted)
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
        """The answer is there."""
        served.end_s = self.now_s
        self.ended_requests += 1
        self.ended_tokens += served.state.known_tokens
        client = served.client
        if client.number in self._measured:
            self._ledger.served.append(served)
            self._to_end -= client.next_turn is None
        self._tell(client)
        self.clients.answered(client, self.now_s)

    def _tell(self, client: Client) -> None:
        """What the session does until its next request."""
        sessions, session, turn = self.engine.sessions, client.session, client.next_turn
        if turn is None:
            sessions.finish(session)
        elif turn.trigger is Trigger.HUMAN and self._tells_humans:
            sessions.awaits_human(session, self.now_s)
        else:
            sessions.doing(session, turn.call, self.now_s)
        if turn is not None:
            self._gaps_s[session] = turn.gap_s * self.clients.gap_scale
        if self._by_session is not None:
            self._by_session.reconsider(session)

    def _counts(self) -> Counts:
        lookups, pool = self.engine.lookups, self.engine.pool
        return Counts(
            self.now_s,
            self.steps,
            self.ended_requests,
            self.ended_tokens,
            lookups.query_tokens,
            lookups.hit_tokens,
            self.evicted_blocks,
            pool.recomputed_blocks,
            self.engine.reloaded_blocks,
            self.preemptions,
            self.engine.probed_blocks,
        )
