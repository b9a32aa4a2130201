"""A streamed completion or chat completion, read chunk by chunk with the time of the first content."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from keepwarm._json import parsed


class Generated(NamedTuple):
    """What a streamed answer brought.

    ``text`` is what was generated; of a chat that brought more than content it is one JSON object with
    ``content``, ``reasoning`` and ``tool_calls``. ``ttft_s``: seconds from sending to the first chunk with
    content (of a completion: the first chunk); ``total_s``: to the end. ``cached_tokens`` is None where the
    usage has no ``prompt_tokens_details``.
    """

    text: str
    ttft_s: float
    prompt_tokens: int
    cached_tokens: int | None
    output_tokens: int | None = None
    finish_reason: str | None = None
    total_s: float = 0.0


class StreamReader:
    """Reads one answer; made when the request is sent, for its clock starts then."""

    def __init__(self) -> None:
        self._sent = time.perf_counter()
        self._first: float | None = None
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._tools: dict[int, list[str]] = {}  # by the call's index: its name, then pieces of its arguments
        self._finish_reason: str | None = None
        self._usage: dict[str, Any] | None = None

    def read(self, lines: Iterable[str]) -> Generated:
        """All events of ``lines``, to ``[DONE]``. ValueError: the reason why they are no completion."""
        for line in lines:
            if line.startswith("data:"):
                payload = line.removeprefix("data:").strip()
                if payload == "[DONE]":
                    return self._generated()
                self._take(payload)
        raise ValueError("the stream ended before its last chunk")

    def _take(self, payload: str) -> None:
        try:
            chunk = parsed(payload)
        except ValueError as error:
            raise ValueError("a chunk of the stream is not JSON") from error
        if not isinstance(chunk, dict):
            raise ValueError("a chunk of the stream is no JSON object")
        if chunk.get("error"):
            raise ValueError(f"the server broke off: {chunk['error']}")
        if isinstance(chunk.get("usage"), dict):
            self._usage = chunk["usage"]
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices:
            return
        choice = choices[0]
        if not isinstance(choice, dict):
            raise ValueError("a choice of the stream is no JSON object")
        finish_reason = choice.get("finish_reason")
        if isinstance(finish_reason, str):
            self._finish_reason = finish_reason
        has_content = self._take_choice(choice)
        # The first chunk of a chat names the role alone; an empty answer has nothing but its end.
        if self._first is None and (has_content or finish_reason):
            self._first = time.perf_counter()

    def _take_choice(self, choice: dict[str, Any]) -> bool:
        """Whether the choice holds something generated; that of a completion always does."""
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            self._text.append(str(choice.get("text") or ""))
            return True
        content = str(delta.get("content") or "")
        reasoning = str(delta.get("reasoning") or delta.get("reasoning_content") or "")
        self._text.append(content)
        self._reasoning.append(reasoning)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            self._take_call(call)
        return bool(content or reasoning or calls)

    def _take_call(self, call: object) -> None:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict):
            return
        index = call.get("index")
        pieces = self._tools.setdefault(index if type(index) is int else 0, [""])
        pieces[0] = pieces[0] or str(function.get("name") or "")
        pieces.append(str(function.get("arguments") or ""))

    def _output(self) -> str:
        text, reasoning = "".join(self._text), "".join(self._reasoning)
        if not (reasoning or self._tools):
            return text
        calls = [
            {"name": name, "arguments": "".join(pieces)} for _, (name, *pieces) in sorted(self._tools.items())
        ]
        answer = {"content": text, "reasoning": reasoning, "tool_calls": calls}
        return json.dumps(answer, ensure_ascii=False)

    def _generated(self) -> Generated:
        if self._first is None:
            raise ValueError("the stream held no content")
        usage = self._usage or {}
        prompt_tokens = usage.get("prompt_tokens")
        if type(prompt_tokens) is not int:
            raise ValueError("the stream held no usage")
        details = usage.get("prompt_tokens_details")
        return Generated(
            text=self._output(),
            ttft_s=self._first - self._sent,
            prompt_tokens=prompt_tokens,
            cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else None,
            output_tokens=_count(usage.get("completion_tokens")),
            finish_reason=self._finish_reason,
            total_s=time.perf_counter() - self._sent,
        )


def _count(value: object) -> int | None:
    return value if type(value) is int else None
