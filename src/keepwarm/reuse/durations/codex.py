"""Tool calls in rollout files of Codex."""

from __future__ import annotations

from collections.abc import Iterable

from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.durations.base import Batches, DurationReader, ToolDuration
from keepwarm.trace.readers.base import CERTAIN
from keepwarm.trace.readers.codex_rollout import CodexRolloutReader
from keepwarm.trace.readers.fields import as_object, as_seconds, as_text, to_json_text
from keepwarm.trace.records import JsonObject

_CALLS = frozenset(("function_call", "custom_tool_call", "local_shell_call"))
_RESULTS = frozenset(("function_call_output", "custom_tool_call_output", "local_shell_call_output"))


class CodexDurations(DurationReader):
    """Rollout files of Codex: from the item with the call to the item with its output.

    Calls with no output between them are of one answer. The time a person took to allow a call counts as its
    own. The task is the session.
    """

    name = "codex-rollout"

    def __init__(self, file_name: str) -> None:
        super().__init__(file_name)
        self._batches = Batches()
        self._session = file_name
        self._answers = 0
        self._answering = False

    @staticmethod
    def owns(record: JsonObject) -> bool:
        return CodexRolloutReader.score(record) >= CERTAIN

    def read(self, record: JsonObject) -> Iterable[ToolDuration]:
        item = as_object(record.get("payload"))
        time_s = as_seconds(record.get("timestamp"))
        if record.get("type") == "session_meta":
            self._session = as_text(item.get("id")) or self.file_name
        if record.get("type") != "response_item":
            return ()
        call_id = as_text(item.get("call_id")) or as_text(item.get("id")) or ""
        if item.get("type") in _CALLS:
            if not self._answering:
                self._answers += 1
            self._answering = True
            answer = f"{self._session}/{self._answers}"
            self._batches.ask(answer, self._session, call_id, _call(item), time_s)
        elif item.get("type") in _RESULTS:
            self._answering = False
            self._batches.end(call_id, time_s)
        return ()

    def finish(self) -> Iterable[ToolDuration]:
        for duration in self._batches.durations():
            yield from self.usable(duration)


def _call(item: JsonObject) -> ToolCall:
    if item.get("type") == "local_shell_call":
        return ToolCall("local_shell", to_json_text(as_object(item.get("action")).get("command")))
    arguments = as_text(item.get("arguments")) or as_text(item.get("input")) or ""
    return ToolCall(as_text(item.get("name")) or "", arguments)
