"""Tool calls in trajectories of SWE-agent."""

from __future__ import annotations

from collections.abc import Iterable

from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.durations.base import DurationReader, ToolDuration
from keepwarm.trace.readers.base import CERTAIN
from keepwarm.trace.readers.fields import as_duration, as_list, as_object, as_text, first
from keepwarm.trace.readers.swe_agent_traj import SWEAgentTrajReader
from keepwarm.trace.records import JsonObject


class SWEAgentDurations(DurationReader):
    """Trajectories of SWE-agent (``*.traj``): ``action`` and ``execution_time`` of each step.

    An action is a line for the shell of the environment, so all are calls of ``bash``. Files older than
    SWE-agent 1.0 do not record the time. The task is the instance.
    """

    name = "swe-agent"

    @staticmethod
    def owns(record: JsonObject) -> bool:
        return SWEAgentTrajReader.score(record) >= CERTAIN

    def read(self, record: JsonObject) -> Iterable[ToolDuration]:
        named = first(record, "instance_id") or first(as_object(record.get("info")), "instance_id")
        task = as_text(named) or self.file_name
        for step in map(as_object, as_list(record.get("trajectory"))):
            action = as_text(step.get("action"))
            if action is None:
                continue  # the model asked for nothing
            seconds = as_duration(step.get("execution_time"))
            known = (
                None if seconds is None else ToolDuration(ToolCall("bash", action).bounded(), seconds, task)
            )
            yield from self.usable(known)
