"""The fitted predictor: by the arguments of the call, else its tool, else all calls."""

from __future__ import annotations

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators.base import Estimator
from keepwarm.reuse.predictor import ReuseModel


class Learned(Estimator):
    """Answers from a model that ``keepwarm reuse fit`` made; nothing is learned while it serves.

    A session of which nobody said what it does is unknown: the model knows of tool calls only.
    """

    name = "learned"

    def __init__(self, model: ReuseModel) -> None:
        self._model = model

    def remaining_s(self, session: SessionId, call: ToolCall | None, elapsed_s: float) -> float | None:
        return None if call is None else self._model.remaining_s(call, elapsed_s)

    def stays_away(
        self, session: SessionId, call: ToolCall | None, elapsed_s: float, longer_s: float
    ) -> float | None:
        return None if call is None else self._model.stays_away(call, elapsed_s, longer_s)
