"""Predicted against real time to reuse in a recording: the plugin's own account, without the plugin.

The recording knows when an answer ended, when the session's next request came, and which tool call that one
brings. So every prediction is made afterwards, as it would have been.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.estimators.learned import Learned
from keepwarm.reuse.messages import calls_of
from keepwarm.reuse.report.document import load_model
from keepwarm.scheduling.sessions import MOST_SESSIONS
from keepwarm.trace.records import Request
from keepwarm.vllm.serving.counters import NAMES, private_serving_counters
from keepwarm.vllm.serving.exposition import prediction_families
from keepwarm.vllm.serving.faults import ServingFaults
from keepwarm.vllm.serving.predictions import PredictedTable


class Returns:
    """Of one recording and one model; bounded by ``MOST_SESSIONS``."""

    def __init__(self, model: str) -> None:
        """Raises InputError: the model cannot be used."""
        self._counters = private_serving_counters()
        faults = ServingFaults(self._counters, 1)
        self._table = PredictedTable(Learned(load_model(model)), MOST_SESSIONS, self._counters, faults)

    def add(self, request: Request) -> None:
        """Count a request that is over; without session and times nothing is known of it. Mutates."""
        begun_s, ended_s = request.time_s, request.end_s
        if request.session is None or begun_s is None or ended_s is None or ended_s < begun_s:
            return
        session, table = SessionId(request.session), self._table
        known = table.get(session)
        if known is not None and begun_s < known.since_s:  # beside another one, that is told before it
            table.ended(session, 0, max(ended_s, known.since_s))
            return
        table.returns(session)
        call = calls_of(request.messages)
        if known is not None and call is not None:
            table.doing(session, call, known.since_s)
        table.arrived(session, 0, begun_s)
        table.ended(session, 0, ended_s)

    def families(self) -> Iterator[Metric]:
        """As the plugin shows them."""
        yield from prediction_families([{name: self._counters.get(name) for name in NAMES}])
