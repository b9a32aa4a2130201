"""Nothing is known of any call: sessions go least recently used first."""

from __future__ import annotations

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators.base import Estimator


class Unknown(Estimator):
    """Answers "unknown", always."""

    name = "unknown"

    def remaining_s(self, session: SessionId, call: ToolCall | None, elapsed_s: float) -> float | None:
        return None
