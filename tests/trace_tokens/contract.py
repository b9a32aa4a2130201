"""Requests, and the contract of spans."""

from __future__ import annotations

import re
from typing import Any

from keepwarm.trace.prompt import Rendered
from keepwarm.trace.records import Request


def chat(*messages: dict[str, Any], **rest: Any) -> Request:
    return Request(line=1, id="r-1", messages=list(messages), **rest)


def value_at(request: Request, path: str) -> Any:
    """The value of the OpenAI chat body at a JSON path."""
    value: Any = {"messages": request.messages, "tools": request.tools, "prompt": request.prompt_text}
    for name, index, quoted in re.findall(r"\.?([\w-]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]", path):
        value = value[int(index)] if index else value[name or quoted]
    return value


def check_spans(request: Request, rendered: Rendered) -> None:
    """Spans cover the text in order, and copies are copies."""
    position = 0
    for span in rendered.spans:
        assert span.start == position < span.end
        position = span.end
        if span.path is None:
            assert (span.origin, span.value_start) == ("template", -1)
            continue
        value = value_at(request, span.path)
        if span.value_start >= 0:
            text = rendered.text[span.start : span.end]
            assert value[span.value_start : span.value_start + len(text)] == text, span
    assert position == len(rendered.text)
