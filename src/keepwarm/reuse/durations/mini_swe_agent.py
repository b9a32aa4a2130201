"""Tool calls in trajectories of mini-swe-agent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from keepwarm.reuse.calls import ToolCall, joined
from keepwarm.reuse.durations.base import DurationReader, ToolDuration
from keepwarm.trace.readers.fields import as_list, as_object, as_seconds, as_text, first
from keepwarm.trace.records import JsonObject

_CODE_BLOCK = re.compile(r"```(?:mswea_)?(?:bash|sh)[^\n]*\n(.*?)\n?```", re.DOTALL)


class MiniSWEAgentDurations(DurationReader):
    """Trajectories of mini-swe-agent (``*.traj.json``): from an answer to the message with what it printed.

    Times are ``timestamp`` of the message or of its ``extra``; the first versions recorded none. Commands are
    ``extra.actions``, else the code block of the answer; those of one answer run one after another. The task
    is the instance, else the file.
    """

    name = "mini-swe-agent"

    @staticmethod
    def owns(record: JsonObject) -> bool:
        made_by = record.get("trajectory_format")
        return isinstance(made_by, str) and made_by.startswith("mini-swe-agent")

    def read(self, record: JsonObject) -> Iterable[ToolDuration]:
        task = as_text(first(record, "instance_id")) or self.file_name
        messages = [as_object(message) for message in as_list(record.get("messages"))]
        for index, (answer, observed) in enumerate(pairwise(messages)):
            call = _call(answer)
            if call is None or _is_answer(observed):
                continue
            last = observed
            for later in messages[index + 2 :]:
                if _is_answer(later) or not _is_result(later):
                    break
                last = later
            began_s, ended_s = _time_s(answer), _time_s(last)
            unknown = began_s is None or ended_s is None
            yield from self.usable(
                None if unknown else ToolDuration(call, (ended_s or 0.0) - (began_s or 0.0), task)
            )


def _is_answer(message: JsonObject) -> bool:
    return message.get("role") == "assistant" or message.get("object") == "response"


def _is_result(message: JsonObject) -> bool:
    return message.get("role") == "tool" or message.get("type") == "function_call_output"


def _call(message: JsonObject) -> ToolCall | None:
    """The commands of an answer as one call; None if it is no answer, or asks for nothing."""
    if not _is_answer(message):
        return None
    actions = as_list(as_object(message.get("extra")).get("actions"))
    texts = [as_text(as_object(action).get("command") or action) for action in actions]
    commands = [text for text in texts if text is not None]
    if not commands and isinstance(message.get("content"), str):
        commands = _CODE_BLOCK.findall(message["content"])[:1]
    return joined([ToolCall("bash", command) for command in commands])


def _time_s(message: JsonObject) -> float | None:
    stamp = first(message, "timestamp")
    return as_seconds(first(as_object(message.get("extra")), "timestamp") if stamp is None else stamp)
