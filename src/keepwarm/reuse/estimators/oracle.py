"""The truth, for whoever knows it: what perfect prediction would be worth."""

from __future__ import annotations

from collections.abc import Callable

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators.base import Estimator


class Oracle(Estimator):
    """``gap_s`` says for how long a session that is idle now will have been when it comes back.

    It answers None, and so does the oracle, for a session that does not come back or of which it knows
    nothing; a mapping's ``get`` will do. 0 here is no guess: the session comes back now.
    """

    name = "oracle"

    def __init__(self, gap_s: Callable[[SessionId], float | None]) -> None:
        self._gap_s = gap_s

    def remaining_s(self, session: SessionId, call: ToolCall | None, elapsed_s: float) -> float | None:
        """O(1), beside what ``gap_s`` takes."""
        gap_s = self._gap_s(session)
        return None if gap_s is None else max(0.0, gap_s - elapsed_s)
