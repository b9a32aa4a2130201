"""Trajectories of SWE-agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keepwarm.trace.readers.base import CERTAIN, Reader, Unusable
from keepwarm.trace.readers.chat import chat_messages, kind
from keepwarm.trace.readers.fields import as_list, as_object, as_text, first
from keepwarm.trace.records import JsonObject, Request, Skipped, Usage

_MESSAGE_KEYS = ("role", "content", "name", "tool_calls", "tool_call_id", "reasoning_content")


class SWEAgentTrajReader(Reader):
    """Trajectory files of SWE-agent (`*.traj`), one run a file.

    Each step of `trajectory` is one request. Newer files keep its prompt as `query`; in older ones the step's
    `messages` also hold the step's own answer and observation, which are cut off; where there are neither,
    the requests follow from `history`. `agent`, `message_type` and the like are not sent to the model and are
    left out. Tools and times are not in the file.
    """

    name = "swe-agent-traj"
    prompt_complete = False

    @staticmethod
    def score(record: JsonObject) -> float:
        """By a trajectory beside its history or its outcome."""
        if not isinstance(record.get("trajectory"), list):
            return 0.0
        return CERTAIN if "history" in record or "info" in record else 0.0

    def read(self, record: JsonObject, line: int) -> Iterator[Request | Skipped]:
        """One request per step."""
        steps = record.get("trajectory")
        if not isinstance(steps, list):
            raise Unusable(f"trajectory is {kind(steps)}; a list of steps is expected")
        named = first(record, "instance_id") or first(as_object(record.get("info")), "instance_id")
        session = as_text(named) or f"trajectory-{line}"
        model = _model_of(record)
        calls = _calls_of_steps(steps)
        if not any(prompt is not None for prompt, _ in calls):
            calls = _calls_of_history(as_list(record.get("history")))
        for number, (prompt, answer) in enumerate(calls, start=1):
            try:
                messages = chat_messages(prompt)
                yield Request(
                    line=line,
                    id=f"{session}/{number}",
                    session=session,
                    model=model,
                    messages=[_sent(message) for message in messages],
                    answer=None if answer is None else _sent(answer),
                    usage=Usage(),
                )
            except Unusable as error:
                yield Skipped(line, f"trajectory[{number - 1}]: {error}")


def _calls_of_steps(steps: list[Any]) -> list[tuple[Any, JsonObject | None]]:
    """Prompt and answer of every step; the prompt is ``None`` where the step does not tell it."""
    calls: list[tuple[Any, JsonObject | None]] = []
    for step in steps:
        given = as_object(step)
        if given.get("query"):
            said = as_text(given.get("response"))
            calls.append((given["query"], None if said is None else {"role": "assistant", "content": said}))
        else:
            calls.append(_without_own_answer(given.get("messages"), given))
    return calls


def _without_own_answer(messages: Any, step: JsonObject) -> tuple[Any, JsonObject | None]:
    if not isinstance(messages, list):
        return messages, None
    for index in range(len(messages) - 1, -1, -1):
        message = as_object(messages[index])
        if message.get("role") == "assistant":
            if _is_own(message, messages[index + 1 :], step):
                return messages[:index], message
            return messages, None
    return messages, None


def _is_own(message: JsonObject, after: list[Any], step: JsonObject) -> bool:
    """Whether the last answer among a step's messages is the step's own, not an earlier one's."""
    said = as_text(step.get("response"))
    content = message.get("content")
    if said is not None and isinstance(content, str) and content:
        return content.strip() == said.strip()
    observed = as_text(step.get("observation"))
    if observed is None or not after:
        return True
    return observed.strip() in str(as_object(after[0]).get("content"))


def _calls_of_history(history: list[Any]) -> list[tuple[Any, JsonObject | None]]:
    """Every answer in the history that is no part of a demonstration, with what lies above it."""
    calls: list[tuple[Any, JsonObject | None]] = []
    for index, message in enumerate(history):
        item = as_object(message)
        if item.get("role") == "assistant" and not item.get("is_demo") and index > 0:
            calls.append((history[:index], item))
    return calls


def _sent(message: JsonObject) -> JsonObject:
    return {key: message[key] for key in _MESSAGE_KEYS if key in message}


def _model_of(record: JsonObject) -> str:
    config: Any = record.get("replay_config")
    model = as_object(as_object(as_object(config).get("agent")).get("model"))
    return as_text(model.get("name")) or ""
