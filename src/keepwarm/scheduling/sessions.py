"""What is known of the sessions of one server: what each is doing, its size, and when it comes back.

Whoever runs the server tells it events; queue orders and victim orders read it. Bounded: the sessions heard
of last are kept, and one that was forgotten is like one never heard of.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from keepwarm.policies.sessions import ReuseRank, SessionId, Tier
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators.base import Estimator

MOST_SESSIONS = 10_000
_UNHEARD_OF = ReuseRank(Tier.TOOL, math.inf)  # forgotten, most likely: it was heard of longest ago


@dataclass(slots=True)
class Session:
    """One session. ``context_blocks``: of its newest request, the answer so far included.

    ``requests`` of it wait or run now; if none does it has been idle since ``since_s``, doing ``call``.
    """

    id: SessionId
    first_s: float
    since_s: float
    context_blocks: int = 0
    requests: int = 0
    served: int = 0  # requests that ended
    call: ToolCall | None = None
    awaits_human: bool = False
    finished: bool = False
    paused: bool = False  # outside the active set; the queue order's to set


class SessionTable:
    """Sessions by id, the one heard of last at the end. Nothing raises."""

    def __init__(self, estimator: Estimator, most_sessions: int = MOST_SESSIONS) -> None:
        self.estimator = estimator
        self.now_s = 0.0
        self.forgotten = 0
        self._most_sessions = most_sessions
        self._sessions: OrderedDict[SessionId, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        """All of them, finished ones too. Does not mutate."""
        return iter(self._sessions.values())

    def get(self, session: SessionId) -> Session | None:
        """What is known of it. Does not mutate; valid until it is forgotten."""
        return self._sessions.get(session)

    def arrived(self, session: SessionId, need_blocks: int, now_s: float) -> Session:
        """A request of it arrived and waits: whatever it did before is over. Mutates."""
        known = self._heard_of(session, now_s)
        if not known.requests and known.served:
            self.estimator.observe(known.call, max(0.0, now_s - known.since_s))
        known.requests += 1
        known.context_blocks = need_blocks
        known.since_s = now_s
        known.call, known.awaits_human, known.finished = None, False, False
        return known

    def ended(self, session: SessionId, context_blocks: int, now_s: float) -> None:
        """A request of it ended, its context being ``context_blocks`` long by then. Mutates."""
        known = self._sessions.get(session)
        if known is None:
            return
        known.requests = max(0, known.requests - 1)
        known.served += 1
        known.context_blocks = context_blocks
        known.since_s = now_s

    def doing(self, session: SessionId, call: ToolCall | None, started_s: float) -> None:
        """Somebody says which tool runs, or that it is idle without one. Mutates."""
        known = self._heard_of(session, started_s)
        known.call, known.awaits_human = call, False
        if not known.requests:
            known.since_s = started_s

    def awaits_human(self, session: SessionId, now_s: float) -> None:
        """Somebody says that a person has to answer. Mutates."""
        self._heard_of(session, now_s).awaits_human = True

    def finish(self, session: SessionId) -> None:
        """Nothing comes any more. Mutates."""
        known = self._sessions.get(session)
        if known is not None:
            known.finished = True

    def rank(self, session: SessionId) -> ReuseRank:
        """See ``SessionRanks``; at ``now_s``, which whoever runs the server moves on."""
        known = self._sessions.get(session)
        if known is None:
            return _UNHEARD_OF
        idle_s = max(0.0, self.now_s - known.since_s)
        if known.finished and not known.requests:
            return ReuseRank(Tier.FINISHED, idle_s)
        if known.paused:
            return ReuseRank(Tier.PAUSED, self._tau_s(known, idle_s))
        if known.requests:
            return ReuseRank(Tier.SERVED, -idle_s)  # who waits longest comes first
        if known.awaits_human:
            return ReuseRank(Tier.HUMAN, idle_s)
        return ReuseRank(Tier.TOOL, self._tau_s(known, idle_s))

    def _tau_s(self, session: Session, idle_s: float) -> float:
        if session.requests:
            return -idle_s
        remaining_s = self.estimator.remaining_s(session.id, session.call, idle_s)
        return idle_s if remaining_s is None else remaining_s

    def _heard_of(self, session: SessionId, now_s: float) -> Session:
        known = self._sessions.get(session)
        if known is None:
            if len(self._sessions) >= self._most_sessions:
                self._forget_one()
            known = self._sessions[session] = Session(session, first_s=now_s, since_s=now_s)
        self._sessions.move_to_end(session)
        return known

    def _forget_one(self) -> None:
        for candidate in self._sessions.values():
            if not candidate.requests:
                break
        else:
            return  # all have requests here: the server's own limit on requests bounds them
        del self._sessions[candidate.id]
        self.forgotten += 1
