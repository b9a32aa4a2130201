"""Strings inside a tool definition, with and without their paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


def strings_in(value: Any) -> Iterator[str]:
    """Every string value in ``value``, keys aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings_in(inner)


def string_at(value: Any, path: str) -> str | None:
    """The string at a path such as ``.function.description``, ``None`` if there is none."""
    for key, index in _STEP.findall(path):
        try:
            value = value[key] if key else value[int(index)]
        except (KeyError, IndexError, TypeError):
            return None
    return value if isinstance(value, str) else None
