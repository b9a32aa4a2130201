"""What our scheduler classes do beside vLLM's: order and sessions hear of each event. Nothing raises."""

from __future__ import annotations

import logging
from typing import Any

from keepwarm.scheduling.orders import ORDERS
from keepwarm.vllm.hints import metadata
from keepwarm.vllm.hints.listener import HintListener
from keepwarm.vllm.serving.counters import HINT_OUTCOMES, SCHEDULING_MODES
from keepwarm.vllm.serving.queue import OrderedQueue
from keepwarm.vllm.serving.server import PrefillRate, ServerView
from keepwarm.vllm.serving.sessions import SessionKeeper
from keepwarm.vllm.serving.state import EngineState
from keepwarm.vllm.serving.tickets import Host, RequestTicket

logger = logging.getLogger("vllm.cachewise")

PUBLISH_EVERY = 16  # steps
LEAST_COUNTED_S = 1.0  # between two looks at what all sessions do


class Desk:
    """Of one scheduler. Its waiting queue is replaced, unless vLLM's own order is to be kept."""

    def __init__(self, scheduler: Any, state: EngineState) -> None:
        self.state = state
        self.view = ServerView(scheduler)
        self._sessions = SessionKeeper(state, self.view.block_size)
        self._rate = PrefillRate(self.view)
        self._tickets: dict[str, RequestTicket] = {}  # of requests about to be enqueued
        self._steps = 0
        self._counted_s = 0.0
        self.queue: OrderedQueue | None = None
        self._scheduler = scheduler
        mode = state.settings.scheduling or "fcfs"
        reason = why_own_order(scheduler) if mode != "fcfs" else None
        if reason:
            logger.warning("CacheWise: vLLM's own order is kept, %s", reason)
            mode = "fcfs"
        if mode != "fcfs":
            self.queue = self._queue(mode)
            scheduler.waiting = self.queue
        self._hints = _listen(scheduler, state)
        state.counters.set("scheduling", 1 + SCHEDULING_MODES.index(mode))
        state.counters.publish()
        logger.info("CacheWise: %s, order in effect: %s", state.settings.line(), mode)

    def arrived(self, request: Any) -> None:
        """A request has come and is about to be enqueued."""
        self._sessions.arrived(request, self.state.clock())

    def ended(self, request: Any) -> None:
        """A request is over; its blocks are free."""
        if self.queue is not None:
            self.queue.released(request)
        self._sessions.ended(request, self.state.clock())

    def close(self) -> None:
        """The engine stops."""
        self._publish()
        if self._hints is not None:
            self._hints.close()

    def waits_elsewhere(self, request: Any) -> None:
        """A request that ran waits for more input, its blocks held."""
        if self.queue is not None:
            self.queue.released(request)

    def begin_step(self) -> int:
        """Returns the most tokens one request may compute in this step, 0 for no cap of ours."""
        state = self.state
        now_s = state.table.now_s = state.clock()
        try:
            for act in state.on_step:
                act(now_s)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            state.faults.note("step", error)
        return 0 if self.queue is None else self.queue.begin_step(now_s)

    def scheduled(self, output: Any) -> None:
        """The step's requests are chosen."""
        if self.queue is not None:
            self.queue.scheduled()
        if output.total_num_scheduled_tokens:
            self._rate.began(self.state.table.now_s)
        self._steps += 1
        if self._steps % PUBLISH_EVERY == 0:
            self._publish()

    def computed(self, output: Any) -> None:
        """A step's results are there."""
        tokens = output.total_num_scheduled_tokens
        if tokens:  # what a request computes beyond one token is its prompt
            self._rate.ended(tokens - len(output.num_scheduled_tokens), self.state.clock())
        if not self._scheduler.running:
            self._publish()  # the engine may be idle from here on

    def _publish(self) -> None:
        state, counters = self.state, self.state.counters
        try:
            counters.set("probes", self.view.probes)
            counters.set("prefill_ps", round(self.view.prefill_s_per_token * 1e12))
            counters.set("sessions_forgotten", state.table.forgotten)
            counters.set("sessions_known", len(state.table))
            if state.table.now_s - self._counted_s >= LEAST_COUNTED_S:
                self._counted_s = state.table.now_s
                state.table.give_up(state.table.now_s)
                counters.set("predictions_open", state.table.open_predictions)
                counters.set("sessions_active", sum(bool(known.requests) for known in state.table))
                counters.set("sessions_paused", sum(known.paused for known in state.table))
            if self._hints is not None:
                for outcome in HINT_OUTCOMES:
                    counters.set(f"hints_{outcome}", getattr(self._hints.counts, outcome))
            counters.publish()
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            state.faults.note("step", error)

    def _queue(self, mode: str) -> OrderedQueue:
        state, scheduler = self.state, self._scheduler
        order = ORDERS[mode]
        host = Host(
            new_order=lambda: order(self.view, state.table),
            new_ticket=self._ticket,
            is_ready=scheduler._handle_blocked_waiting_request,
            is_busy=lambda: bool(scheduler.running),
            is_full=lambda: (
                len(scheduler.running) + scheduler.num_waiting_for_streaming_input
                >= scheduler.max_num_active_reqs
            ),
            block_size=self.view.block_size,
        )
        queue = OrderedQueue(host, state.faults, state.counters)
        state.faults.on_trip.append(queue.put_away)
        state.faults.on_trip.append(lambda: state.counters.set("scheduling", 1))
        return queue

    def _ticket(self, request: Any) -> RequestTicket:
        state = self.state
        session = state.sessions.get(request.request_id)
        if session is None:  # it never arrived here
            session = self._sessions.arrived(request, state.clock())
        ticket = RequestTicket(session, state.clock(), (), 0, request=request)
        try:
            ticket.update(self.view.block_size)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            state.faults.note("order", error)
        return ticket


def why_own_order(scheduler: Any) -> str | None:
    """What this server has that our orders do not know; None if nothing."""
    groups = scheduler.kv_cache_config.kv_cache_groups
    if scheduler.scheduler_config.policy != "fcfs":
        return f"the scheduling policy is {scheduler.scheduler_config.policy!r}"
    if not scheduler.cache_config.enable_prefix_caching:
        return "prefix caching is off"
    if scheduler.connector is not None:
        return "a KV connector makes reloads cheap"
    if len(groups) != 1 or scheduler.hash_block_size != scheduler.block_size:
        return "the model has several kinds of attention"
    return None


def _listen(scheduler: Any, state: EngineState) -> HintListener | None:
    """Let hints reach the table: those that requests carry, those told to the endpoint if one is wanted."""
    table = state.table
    rank = scheduler.parallel_config.data_parallel_rank
    listener = HintListener.start(state.settings, rank if isinstance(rank, int) else 0)
    if listener is not None:
        drain = listener.drain
        state.on_step.append(lambda now_s: drain(table, now_s))
        state.on_arrival.append(lambda _request, _session: drain(table, table.now_s))
    # What was told until here was known while the session was idle; what its request tells is known too late.
    state.on_arrival.append(lambda _request, session: table.returns(session))
    state.on_arrival.append(lambda request, session: metadata.tell(table, session, request))
    return listener
