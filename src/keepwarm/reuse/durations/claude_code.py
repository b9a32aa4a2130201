"""Tool calls in session logs of Claude Code."""

from __future__ import annotations

from collections.abc import Iterable

from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.durations.base import Batches, DurationReader, ToolDuration
from keepwarm.trace.readers.base import CERTAIN
from keepwarm.trace.readers.claude_code import ClaudeCodeReader
from keepwarm.trace.readers.fields import as_list, as_object, as_seconds, as_text, to_json_text
from keepwarm.trace.records import JsonObject

_REFUSED = "The user doesn't want to"  # how the result of a call begins that a person refused


class ClaudeCodeDurations(DurationReader):
    """Session logs of Claude Code: from the line with the ``tool_use`` to the one with its ``tool_result``.

    The log does not tell how long a person took to allow a call: that counts as the call's time. Calls that
    were refused are left out. The task is the session.
    """

    name = "claude-code"

    def __init__(self, file_name: str) -> None:
        super().__init__(file_name)
        self._batches = Batches()

    @staticmethod
    def owns(record: JsonObject) -> bool:
        return ClaudeCodeReader.score(record) >= CERTAIN

    def read(self, record: JsonObject) -> Iterable[ToolDuration]:
        message = as_object(record.get("message"))
        time_s = as_seconds(record.get("timestamp"))
        answer = as_text(record.get("requestId")) or as_text(message.get("id")) or ""
        task = as_text(record.get("sessionId")) or self.file_name
        for block in map(as_object, as_list(message.get("content"))):
            if block.get("type") == "tool_use":
                call = ToolCall(as_text(block.get("name")) or "", to_json_text(block.get("input")))
                call_id = as_text(block.get("id")) or ""
                self._batches.ask(answer or call_id, task, call_id, call, time_s)
            elif block.get("type") == "tool_result":
                self._end(as_text(block.get("tool_use_id")) or "", block, time_s)
        return ()

    def finish(self) -> Iterable[ToolDuration]:
        for duration in self._batches.durations():
            yield from self.usable(duration)

    def _end(self, call_id: str, result: JsonObject, time_s: float | None) -> None:
        content = result.get("content")
        texts = (
            [content] if isinstance(content, str) else [as_object(p).get("text") for p in as_list(content)]
        )
        if result.get("is_error") is True and str(next(iter(texts), "")).startswith(_REFUSED):
            self._batches.drop(call_id)
        else:
            self._batches.end(call_id, time_s)
