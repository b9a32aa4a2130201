"""Rollout files of the Codex agents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from keepwarm.trace.readers.base import CERTAIN, Reader, Unusable
from keepwarm.trace.readers.chat import kind
from keepwarm.trace.readers.dialogue import Dialogue
from keepwarm.trace.readers.fields import as_count, as_list, as_object, as_seconds, as_text
from keepwarm.trace.readers.responses_items import add_item, is_model_item
from keepwarm.trace.records import JsonObject, Request, Skipped, Usage

_LINE_TYPES = frozenset(("session_meta", "turn_context", "response_item", "event_msg", "compacted"))


class _Call(msgspec.Struct, kw_only=True):
    """A model call that is being read."""

    line: int
    time_s: float | None
    messages: list[JsonObject]
    end_s: float | None = None
    answer: JsonObject | None = None
    usage: Usage = Usage()
    ended: bool = False  # something that is not the model's has followed


class CodexRolloutReader(Reader):
    """Rollout files of Codex (`~/.codex/sessions/.../rollout-*.jsonl`, one or several in a file).

    Consecutive `response_item` lines written by the model are one call; its prompt is everything above it
    since `session_meta`, whose base instructions become `messages[0]`. A `compacted` line replaces the
    history. `turn_context` names the model, `token_count` events give the usage. The call begins when the
    item before it was written. Tools are not in the file.
    """

    name = "codex-rollout"
    prompt_complete = False

    def __init__(self) -> None:
        self._dialogue = Dialogue()
        self._system_messages = 0
        self._session: str | None = None
        self._calls = 0
        self._model = ""
        self._last_s: float | None = None
        self._call: _Call | None = None

    @staticmethod
    def score(record: JsonObject) -> float:
        """By the type of a line with a payload."""
        line_type = record.get("type")
        known = isinstance(line_type, str) and line_type in _LINE_TYPES
        return CERTAIN if known and "payload" in record else 0.0

    def read(self, record: JsonObject, line: int) -> Iterator[Request | Skipped]:
        """The previous call, once it is clear that nothing more belongs to it."""
        payload = record.get("payload")
        line_type = record.get("type")
        if not isinstance(payload, dict):
            raise Unusable(f"payload is {kind(payload)}; an object is expected")
        time_s = as_seconds(record.get("timestamp"))
        if line_type == "session_meta":
            yield from self._taken()
            self._begin_session(payload)
        elif line_type == "turn_context":
            self._model = as_text(payload.get("model")) or self._model
        elif line_type == "response_item":
            yield from self._add(payload, line, time_s)
        elif line_type == "event_msg":
            self._add_event(payload)
        elif line_type == "compacted":
            yield from self._taken()
            self._compact(payload)

    def finish(self) -> Iterable[Request | Skipped]:
        """The last call."""
        return self._taken()

    def _begin_session(self, meta: JsonObject) -> None:
        self._dialogue = Dialogue()
        self._session = as_text(meta.get("id"))
        self._calls = 0
        self._model = as_text(meta.get("model")) or ""
        self._last_s = None
        base = meta.get("base_instructions", meta.get("instructions"))
        text = as_text(base.get("text") if isinstance(base, dict) else base)
        if text is not None:
            self._dialogue.say("system", text)
        self._system_messages = len(self._dialogue.messages)

    def _add(self, item: JsonObject, line: int, time_s: float | None) -> Iterator[Request | Skipped]:
        call = self._call
        if not is_model_item(item):
            if call is not None:
                call.ended = True
            add_item(self._dialogue, item, "payload")
            self._last_s = time_s
            return
        if call is None or call.ended:
            yield from self._taken()
            self._dialogue.close()
            began_s = time_s if self._last_s is None else self._last_s
            call = self._call = _Call(line=line, time_s=began_s, messages=list(self._dialogue.messages))
        add_item(self._dialogue, item, "payload")
        call.answer = (
            self._dialogue.messages[-1] if len(self._dialogue.messages) > len(call.messages) else None
        )
        call.end_s = time_s

    def _add_event(self, event: JsonObject) -> None:
        if event.get("type") != "token_count":
            return
        counted = as_object(as_object(event.get("info")).get("last_token_usage"))
        if self._call is None or not counted:
            return
        self._call.ended = True
        if self._call.usage.prompt_tokens is None:
            self._call.usage = Usage(
                prompt_tokens=as_count(counted.get("input_tokens")),
                output_tokens=as_count(counted.get("output_tokens")),
                cached_tokens=as_count(counted.get("cached_input_tokens")),
            )

    def _compact(self, payload: JsonObject) -> None:
        """Start anew from the system text and what the compaction left."""
        kept = self._dialogue.messages[: self._system_messages]
        self._dialogue = Dialogue()
        self._dialogue.messages.extend(kept)
        replacement: list[Any] = as_list(payload.get("replacement_history"))
        for index, item in enumerate(replacement):
            add_item(self._dialogue, item, f"replacement_history[{index}]")
        summary = as_text(payload.get("message"))
        if not replacement and summary is not None:
            self._dialogue.say("user", summary)
        self._dialogue.close()

    def _taken(self) -> Iterator[Request | Skipped]:
        call, self._call = self._call, None
        if call is None:
            return
        if not call.messages:
            yield Skipped(call.line, "the model's answer has nothing before it in the file")
            return
        self._calls += 1
        yield Request(
            line=call.line,
            id=f"{self._session or 'session'}/{self._calls}",
            time_s=call.time_s,
            session=self._session,
            model=self._model,
            messages=call.messages,
            answer=call.answer,
            usage=call.usage,
            end_s=call.end_s,
        )
