"""A streamed completion, read chunk by chunk with the time of the first."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any, NamedTuple


class Generated(NamedTuple):
    """What a streamed completion brought.

    ``ttft_s``: seconds from sending to the first content chunk. ``cached_tokens`` is None where the usage
    has no ``prompt_tokens_details``.
    """

    text: str
    ttft_s: float
    prompt_tokens: int
    cached_tokens: int | None


class StreamReader:
    """Reads one completion; made when the request is sent, for its clock starts then."""

    def __init__(self) -> None:
        self._sent = time.perf_counter()
        self._first: float | None = None
        self._text: list[str] = []
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
            chunk = json.loads(payload)
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
        if self._first is None:
            self._first = time.perf_counter()
        self._text.append(str(choices[0].get("text") or ""))

    def _generated(self) -> Generated:
        if self._first is None:
            raise ValueError("the stream held no content")
        usage = self._usage or {}
        prompt_tokens = usage.get("prompt_tokens")
        if type(prompt_tokens) is not int:
            raise ValueError("the stream held no usage")
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        return Generated(
            text="".join(self._text),
            ttft_s=self._first - self._sent,
            prompt_tokens=prompt_tokens,
            cached_tokens=cached if type(cached) is int else None,
        )
