"""vLLM's queue of waiting requests in the order of a ``QueueOrder``; vLLM's own order whenever that fails.

vLLM's ``schedule()`` stays as it is. It asks whether anybody waits, looks at the first, takes it, and puts
back those it cannot serve in this step. "Nobody waits" is also what it hears while the order holds back all.
Requests that cannot run yet whatever comes (a grammar that is being compiled) stand aside and are no concern
of the order until they can.

A fault hands all that wait to vLLM's own queue, in the order vLLM would have had them, for the rest of the
step; the next one begins with a new order that is told what waits and runs, until there were too many faults.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from vllm.v1.core.sched.request_queue import FCFSRequestQueue, RequestQueue
from vllm.v1.request import RequestStatus

from keepwarm.vllm.serving.counters import ServingCounters
from keepwarm.vllm.serving.faults import ServingFaults
from keepwarm.vllm.serving.tickets import Host, RequestTicket


class OrderedQueue(RequestQueue):  # type: ignore[misc]
    """Waiting requests. Nothing raises but what vLLM's own queue would raise, too."""

    def __init__(self, host: Host, faults: ServingFaults, counters: ServingCounters) -> None:
        self._host = host
        self._faults = faults
        self._counters = counters
        self._order = host.new_order()
        self._is_ordered = True
        self._stock = FCFSRequestQueue()  # all that wait while it decides, else empty
        self._waiting: dict[Any, RequestTicket] = {}
        self._aside: dict[Any, RequestTicket] = {}
        self._running: dict[Any, RequestTicket] = {}  # admitted from here
        self._prefilling: dict[Any, RequestTicket] = {}
        self._behind, self._before = count(1), count(-1, -1)
        self._places: list[tuple[int, RequestTicket]] = []  # heap; those that left are dropped later
        self._first: RequestTicket | None = None
        self._taken = False  # somebody was taken in this step
        self._held_back = False  # nobody could be, though some wait

    # What vLLM's scheduler calls

    def add_request(self, request: Any) -> None:
        """It arrived, or comes back to wait again."""
        is_ordered = self._is_ordered
        ticket = self._host.new_ticket(request)
        ticket.place = next(self._behind)
        if is_ordered and _is_blocked(request):
            self._aside[request] = ticket
        else:
            self._enter(ticket)
        if not is_ordered:
            self._stock.add_request(request)

    def peek_request(self) -> Any:
        """The one to be admitted next; ``IndexError`` if there is none."""
        ticket = self._head()
        return self._stock.peek_request() if ticket is None else ticket.request

    def pop_request(self) -> Any:
        """It leaves: to run, or to be put back by ``prepend_requests``; ``IndexError`` if there is none."""
        ticket = self._head()
        if ticket is None:
            ticket = self._waiting[self._stock.pop_request()]
        self._leave(ticket)
        return ticket.request

    def prepend_request(self, request: Any) -> None:
        """It was preempted."""
        self._return(request, preempted=True)

    def prepend_requests(self, requests: Iterable[Any]) -> None:
        """They could not be served in this step; the last of them comes first."""
        for request in requests:
            self._return(request, preempted=False)

    def remove_request(self, request: Any) -> None:
        """It is given up; ``ValueError`` if it does not wait here."""
        if request not in self._waiting and request not in self._aside:
            raise ValueError(f"request {request.request_id} does not wait")
        self.remove_requests((request,))

    def remove_requests(self, requests: Iterable[Any]) -> None:
        """They are given up; those that do not wait here are left out."""
        gone = []
        for request in requests:
            ticket = self._waiting.pop(request, None)
            if ticket is not None:
                gone.append(request)
                self._tell("remove", ticket)
            else:
                self._aside.pop(request, None)
        self._first = None
        if gone and not self._is_ordered:
            self._stock.remove_requests(gone)

    def __bool__(self) -> bool:
        if self._host.is_full():  # nobody will be taken, so the order need not be asked
            return len(self) > 0
        return self._head() is not None or bool(self._stock)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._aside)

    def __iter__(self) -> Iterator[Any]:
        """All of them, in an order near that of admission."""
        if not self._is_ordered:
            return iter(self._stock)
        try:
            ordered = [ticket.request for ticket in self._order]
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self._fall_back("order", error)
            return iter(self._stock)
        return iter([*ordered, *self._aside])

    # What our scheduler classes call

    def begin_step(self, now_s: float) -> int:
        """Returns the most tokens one request may compute in this step, 0 for no cap."""
        self._first, self._taken, self._held_back = None, False, False
        if not self._is_ordered and not self._faults.tripped:
            self._take_over(now_s)
        if not self._is_ordered:
            return 0
        if self._aside:
            self._admit_ready()
        try:
            self._order.begin_step(now_s)
            return max(0, int(self._order.prefill_cap_tokens))
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self._fall_back("order", error)
            return 0

    def scheduled(self) -> None:
        """The step's requests are chosen: who has no prompt tokens left to compute is told to the order."""
        if not self._prefilling:
            return
        for request, ticket in list(self._prefilling.items()):
            if not request.is_prefill_chunk:
                del self._prefilling[request]
                ticket.prefilled = True
                self._tell("prefilled", ticket)

    def released(self, request: Any) -> None:
        """A request that had been admitted here ended, or waits elsewhere."""
        ticket = self._running.pop(request, None)
        self._prefilling.pop(request, None)
        if ticket is not None:
            self._tell("released", ticket)

    def put_away(self) -> None:
        """From here on the order is vLLM's own."""
        if self._is_ordered:
            self._hand_over()

    # How it is done

    def _head(self) -> RequestTicket | None:
        """Whom the order puts first; None if nobody, or if it failed and vLLM's queue is in charge now."""
        if self._first is not None:
            return self._first
        if not self._waiting or not self._is_ordered:
            return None
        try:
            ticket = self._order.first()
            if ticket is not None and self._waiting.get(ticket.request) is not ticket:
                raise LookupError(f"the order names a request that does not wait: {ticket!r}")
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self._fall_back("order", error)
            return None
        if ticket is None and not self._taken and not self._host.is_busy():
            self._fall_back("stalled", f"{len(self._waiting)} requests wait, none runs, none may begin")
            return None
        if ticket is None and not self._held_back:
            self._held_back = True
            self._counters.add("held_back_steps")
        self._first = ticket
        return ticket

    def _enter(self, ticket: RequestTicket) -> None:
        self._waiting[ticket.request] = ticket
        heapq.heappush(self._places, (ticket.place, ticket))
        self._first = None
        self._tell("add", ticket)

    def _leave(self, ticket: RequestTicket) -> None:
        request = ticket.request
        del self._waiting[request]
        self._running[request] = self._prefilling[request] = ticket
        self._first, self._taken = None, True
        self._counters.add("admissions")
        if self._oldest_place() < ticket.place:
            self._counters.add("reordered_admissions")
        self._tell("admitted", ticket)

    def _return(self, request: Any, *, preempted: bool) -> None:
        is_ordered = self._is_ordered
        ticket = self._running.pop(request, None)
        self._prefilling.pop(request, None)
        self._first = None
        if ticket is None:  # it was admitted elsewhere
            ticket = self._host.new_ticket(request)
            preempted = True
        if preempted:
            ticket.place = next(self._before)
            ticket.preempted = True
        else:
            self._counters.add("admissions", -1)
        ticket.update(self._host.block_size)
        ticket.prefilled = False
        self._waiting[request] = ticket
        heapq.heappush(self._places, (ticket.place, ticket))
        self._tell("put_back", ticket)
        if not is_ordered:
            self._stock.prepend_request(request)

    def _oldest_place(self) -> int:
        places, waiting = self._places, self._waiting
        while places:
            place, ticket = places[0]
            if waiting.get(ticket.request) is ticket and ticket.place == place:
                return place
            heapq.heappop(places)
        return 1 << 62

    def _admit_ready(self) -> None:
        """Those aside that can run by now are the order's from here on."""
        for request, ticket in list(self._aside.items()):
            try:
                ready = self._host.is_ready(request)
            except Exception as error:  # noqa: BLE001 - vLLM's own loop meets it, if it is real
                self._faults.note("step", error)
                ready = True
            if ready and request in self._aside:
                del self._aside[request]
                self._enter(ticket)

    def _tell(self, event: str, ticket: RequestTicket) -> None:
        if self._is_ordered:
            try:
                getattr(self._order, event)(ticket)
            except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
                self._fall_back("order", error)

    def _fall_back(self, kind: str, error: object) -> None:
        self._hand_over()
        self._faults.note(kind, error)

    def _hand_over(self) -> None:
        """All that wait into vLLM's queue, where vLLM would have them."""
        self._waiting.update(self._aside)
        self._aside.clear()
        self._first, self._is_ordered = None, False
        for ticket in sorted(self._waiting.values(), key=lambda ticket: ticket.place):
            self._stock.add_request(ticket.request)

    def _take_over(self, now_s: float) -> None:
        """A new order, told what runs and what waits."""
        try:
            order = self._host.new_order()
            order.begin_step(now_s)
            for ticket in self._running.values():
                order.add(ticket)
                order.admitted(ticket)
                if ticket.prefilled:
                    order.prefilled(ticket)
            waiting = sorted(self._waiting.values(), key=lambda ticket: ticket.place)
            blocked = [ticket for ticket in waiting if _is_blocked(ticket.request)]
            ready = [ticket for ticket in waiting if not _is_blocked(ticket.request)]
            for ticket in ready:
                if not ticket.preempted:
                    order.add(ticket)
            for ticket in reversed(ready):
                if ticket.preempted:
                    order.put_back(ticket)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self._faults.note("order", error)
            return
        for ticket in blocked:
            self._aside[ticket.request] = self._waiting.pop(ticket.request)
        self._stock.clear()
        self._order, self._is_ordered = order, True


def _is_blocked(request: Any) -> bool:
    return request.status in (
        RequestStatus.WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR,
        RequestStatus.WAITING_FOR_REMOTE_KVS,
        RequestStatus.WAITING_FOR_STREAMING_REQ,
    )
