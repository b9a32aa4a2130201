"""Predicted against real time to reuse: what was said of idle sessions, and how long they stayed away.

A prediction is made when a session becomes idle and each time somebody says which tool it runs; the last
word stands, also where it is that a human is awaited, or that nothing is known of the tool. A prediction that
stands is counted once: when the session is back, is said to have finished, or has been away for ``AWAY_S``.
Where nobody said what the tool was until the next request brought it, the prediction is made then, as it
would have been (``afterwards``): it says whether the predictor is right, though nobody could use it.

Tools have heavy tails: most calls are far quicker than what is expected of them, which is a mean. So early
and late are said of the distribution that was predicted, its quickest and its slowest quarter.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable
from math import isfinite
from typing import Literal, NamedTuple

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators.base import Estimator
from keepwarm.scheduling.sessions import Session, SessionTable
from keepwarm.vllm.serving.counters import PREDICTION_OUTCOMES, REUSE_HISTOGRAMS, ServingCounters
from keepwarm.vllm.serving.faults import ServingFaults

Known = Literal["meanwhile", "afterwards"]
Outcome = Literal["early", "middle", "late"]

AWAY_S = 3_600.0  # who is not back by then counts as away, also if the prediction was longer
QUARTER = 0.25
FORGIVEN_S = 1.0  # a second more or less costs nobody anything
MOST_S = 86_400.0  # of a prediction, in sums
MOST_GIVEN_UP = 1_000  # at once
_LEAST_S = 1e-3  # what a ratio divides by
# Names of counters, made once: by when the call was known, of each histogram its sum, bounds and buckets.
_COUNTED = {
    known: [
        (f"{known}_{name}_millionths", bounds, [f"{known}_{name}_{at}" for at in range(len(bounds) + 1)])
        for name, bounds in REUSE_HISTOGRAMS.items()
    ]
    for known in PREDICTION_OUTCOMES
}


class Prediction(NamedTuple):
    """Of one idle session: ``predicted_s`` from ``since_s`` on, for ``call``."""

    call: ToolCall | None
    predicted_s: float
    since_s: float


def outcome_of(estimator: Estimator, session: SessionId, call: ToolCall | None, real_s: float) -> Outcome:
    """Where ``real_s`` lies in what the estimator says of the call; up to ``FORGIVEN_S`` is forgiven.

    Of an estimator that is right a quarter at most is early, and a quarter at most late.
    """
    if real_s > FORGIVEN_S:
        longer = estimator.stays_away(session, call, 0.0, real_s - FORGIVEN_S)
        if longer is not None and longer < QUARTER:
            return "late"
    longer = estimator.stays_away(session, call, 0.0, real_s + FORGIVEN_S)
    return "early" if longer is not None and longer > 1 - QUARTER else "middle"


class PredictedTable(SessionTable):
    """A table of sessions that compares what is predicted of them with what comes.

    Nothing raises: the first fault ends the comparison until the engine restarts, and nothing else. Memory is
    a prediction for each of ``most_sessions``; each event costs O(1) beside what the estimator takes.
    """

    def __init__(
        self, estimator: Estimator, most_sessions: int, counters: ServingCounters, faults: ServingFaults
    ) -> None:
        super().__init__(estimator, most_sessions)
        self._counters = counters
        self._faults = faults
        self._is_on = True
        self._most_open = most_sessions
        self._open: OrderedDict[SessionId, Prediction] = OrderedDict()  # made longest ago first
        self._returning: SessionId | None = None
        self._awaited_human = False  # the one that is returning

    @property
    def open_predictions(self) -> int:
        """Of sessions that are idle now."""
        return len(self._open)

    def returns(self, session: SessionId) -> None:
        """A request of it is here: what is said of it from now on was not known meanwhile. Mutates."""
        known = self.get(session)
        self._returning = session
        self._awaited_human = known is not None and known.awaits_human

    def arrived(self, session: SessionId, need_blocks: int, now_s: float) -> Session:
        """See ``SessionTable``."""
        self._guarded(self._compare, session, now_s)
        self._returning, self._awaited_human = None, False
        return super().arrived(session, need_blocks, now_s)

    def ended(self, session: SessionId, context_blocks: int, now_s: float) -> None:
        """See ``SessionTable``."""
        super().ended(session, context_blocks, now_s)
        self._guarded(self._predict, session)

    def doing(self, session: SessionId, call: ToolCall | None, started_s: float) -> None:
        """See ``SessionTable``."""
        super().doing(session, call, started_s)
        if session != self._returning:
            self._guarded(self._predict, session)

    def awaits_human(self, session: SessionId, now_s: float) -> None:
        """See ``SessionTable``. No tool decides any more when it comes back."""
        super().awaits_human(session, now_s)
        self._open.pop(session, None)

    def finish(self, session: SessionId) -> None:
        """See ``SessionTable``."""
        super().finish(session)
        if self._open.pop(session, None) is not None:
            self._counters.add("meanwhile_finished")

    def give_up(self, now_s: float) -> None:
        """Count those that have been away for too long. Mutates; ``MOST_GIVEN_UP`` of them at most."""
        for _ in range(min(MOST_GIVEN_UP, len(self._open))):
            session, prediction = next(iter(self._open.items()))
            if now_s - prediction.since_s <= AWAY_S:
                return
            self._drop(session)

    def _drop(self, session: SessionId) -> None:
        del self._open[session]
        self._counters.add("meanwhile_away")

    def _predict(self, session: SessionId) -> None:
        known = self.get(session)
        if known is None or known.requests:
            return
        self._open.pop(session, None)
        predicted_s = self._predicted_s(known)
        if predicted_s is None:
            return
        if len(self._open) >= self._most_open:
            self._drop(next(iter(self._open)))
        self._open[session] = Prediction(known.call, predicted_s, known.since_s)

    def _predicted_s(self, known: Session) -> float | None:
        """For all of its call; None for "unknown"."""
        predicted_s = self.estimator.remaining_s(known.id, known.call, 0.0)
        return None if predicted_s is None or not isfinite(predicted_s) else max(0.0, predicted_s)

    def _compare(self, session: SessionId, now_s: float) -> None:
        """Before the table forgets what the session did until its request came."""
        known = self.get(session)
        if known is not None and known.requests:
            return
        prediction = self._open.pop(session, None)
        if prediction is not None:
            real_s = max(0.0, now_s - prediction.since_s)
            if real_s > AWAY_S:
                self._counters.add("meanwhile_away")
            else:
                self._count("meanwhile", session, prediction, real_s)
        elif known is not None and known.served and not known.finished:
            self._compare_afterwards(known, max(0.0, now_s - known.since_s))

    def _compare_afterwards(self, known: Session, real_s: float) -> None:
        """Nothing was predicted while it was idle."""
        if real_s > AWAY_S:
            return
        if known.awaits_human or self._awaited_human:
            self._counters.add("unpredicted_human")
            return
        predicted_s = self._predicted_s(known)
        if predicted_s is None:
            self._counters.add("unpredicted_unknown")
        else:
            self._count("afterwards", known.id, Prediction(known.call, predicted_s, known.since_s), real_s)

    def _count(self, known: Known, session: SessionId, prediction: Prediction, real_s: float) -> None:
        add = self._counters.add
        predicted_s = min(prediction.predicted_s, MOST_S)
        add(f"{known}_{outcome_of(self.estimator, session, prediction.call, real_s)}")
        ratio = real_s / max(predicted_s, _LEAST_S)
        for (name, bounds), value in zip(REUSE_HISTOGRAMS.items(), (predicted_s, real_s, ratio), strict=True):
            add(f"{known}_{name}_millionths", round(value * 1e6))
            add(f"{known}_{name}_{bisect_left(bounds, value)}")

    def _guarded(self, act: Callable[..., None], *arguments: object) -> None:
        if not self._is_on:
            return
        try:
            act(*arguments)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            self._is_on = False
            self._open.clear()
            self._faults.note("reuse", error, "predictions are not compared any more")
