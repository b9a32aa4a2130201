"""Tool calls in event logs of OpenHands."""

from __future__ import annotations

from collections.abc import Iterable

from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.durations.base import Batches, DurationReader, ToolDuration
from keepwarm.trace.readers.fields import as_list, as_object, as_seconds, as_text, first, to_json_text
from keepwarm.trace.records import JsonObject

_NO_TOOLS = frozenset(
    ("message", "system", "change_agent_state", "recall", "finish", "reject", "think", "null")
)


class OpenHandsDurations(DurationReader):
    """Events of OpenHands: from an action of the agent to the observation it caused.

    A saved trajectory (an array of events with ``action``, ``observation`` and ``cause``), lines of an
    evaluation that hold such events as ``history``, and the events of its SDK (``ActionEvent`` and
    ``ObservationEvent``). The task is the instance, else the file.
    """

    name = "openhands"

    def __init__(self, file_name: str) -> None:
        super().__init__(file_name)
        self._batches = Batches()
        self._tasks = 0

    @staticmethod
    def owns(record: JsonObject) -> bool:
        history = as_list(record.get("history"))
        return _is_event(record) or (bool(history) and _is_event(as_object(history[0])))

    def read(self, record: JsonObject) -> Iterable[ToolDuration]:
        if _is_event(record):
            self._add(record, self.file_name, "")
            return ()
        self._tasks += 1  # ids of events are of one history
        task = as_text(record.get("instance_id")) or f"{self.file_name}#{self._tasks}"
        for event in as_list(record.get("history")):
            self._add(as_object(event), task, f"{self._tasks}/")
        return ()

    def finish(self) -> Iterable[ToolDuration]:
        for duration in self._batches.durations():
            yield from self.usable(duration)

    def _add(self, event: JsonObject, task: str, prefix: str) -> None:
        time_s = as_seconds(event.get("timestamp"))
        kind = event.get("kind")
        event_id = prefix + (as_text(event.get("id")) or "")
        if kind == "ActionEvent":
            answer = as_text(event.get("llm_response_id")) or event_id
            self._batches.ask(prefix + answer, task, event_id, _sdk_call(event), time_s)
        elif kind in ("ObservationEvent", "AgentErrorEvent"):
            self._batches.end(prefix + (as_text(event.get("action_id")) or ""), time_s)
        elif kind == "UserRejectObservation":
            self._batches.drop(prefix + (as_text(event.get("action_id")) or ""))
        elif event.get("source") == "agent" and _is_tool(event.get("action")):
            arguments = to_json_text(_without_thought(as_object(event.get("args"))))
            call = ToolCall(as_text(event["action"]) or "", arguments)
            self._batches.ask(event_id, task, event_id, call, time_s)
        elif event.get("cause") is not None:
            self._batches.end(prefix + (as_text(event["cause"]) or ""), time_s)


def _is_event(record: JsonObject) -> bool:
    kind = record.get("kind")
    if isinstance(kind, str) and "timestamp" in record and "source" in record:
        return True
    return "source" in record and ("action" in record or "observation" in record) and "messages" not in record


def _is_tool(action: object) -> bool:
    return isinstance(action, str) and action not in _NO_TOOLS


def _without_thought(arguments: JsonObject) -> JsonObject:
    return {key: value for key, value in arguments.items() if key != "thought"}


def _sdk_call(event: JsonObject) -> ToolCall:
    asked = as_object(event.get("tool_call"))
    function = as_object(first(asked, "function")) or asked
    arguments = as_text(function.get("arguments"))
    if arguments is None:
        arguments = to_json_text(as_object(event.get("action")))
    return ToolCall(as_text(event.get("tool_name")) or as_text(function.get("name")) or "", arguments)
