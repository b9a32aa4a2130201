"""Formatting (``%``, ``format``) that keeps the trace of what is formatted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepwarm.trace.render.traced import Traced, concat

# A private-use character stands around the number of a value.
_MARK = "\ue000"


def trace_formatting(format_: Callable[[str, Any], str], text: str, values: Any) -> str:
    """Format ``values`` into ``text`` and keep their traces.

    The formatting is run a second time with a private mark in place of each traced value;
    the marks then say where the values went. Where that does not give the same text (a width,
    a precision) the trace ends.
    """
    bare = str.__str__(text)
    plain = format_(bare, _each_text(values, str.__str__))
    marked: list[str] = []

    def mark(value: str) -> str:
        marked.append(value)
        return f"{_MARK}{len(marked) - 1}{_MARK}"

    try:
        chunks = format_(bare, _each_text(values, mark)).split(_MARK)
        pieces = [marked[int(chunk)] if index % 2 else chunk for index, chunk in enumerate(chunks)]
    except Exception:  # noqa: BLE001  (a format that takes the value but not its mark, say %c)
        return plain
    found = concat(pieces)
    return found if found == plain else plain


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    """``value`` with ``change`` applied to every traced text directly in it."""
    if type(value) is Traced:
        return change(value)
    if type(value) is tuple:
        return tuple(_each_text(item, change) for item in value)
    if type(value) is dict:
        return {key: _each_text(item, change) for key, item in value.items()}
    return value
