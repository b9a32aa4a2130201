"""Texts inside a tool definition, by JSON path or by steps, the keys and indices that lead to them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from keepwarm.trace.prompt import member_path

Steps = tuple[str | int, ...]

# A plain name, an index, or a quoted name: what ``member_path`` writes.
_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\[('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]""")


def strings_in(value: Any) -> Iterator[str]:
    """Every string value in ``value``, keys aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings_in(inner)


def string_at(value: Any, path: str) -> str | None:
    """The string at a path such as ``.function.description``, ``None`` if there is none."""
    steps = (
        name or (int(index) if index else ast.literal_eval(quoted))
        for name, index, quoted in _STEP.findall(path)
    )
    found = value_at(value, tuple(steps))
    return found if isinstance(found, str) else None


def leaves_of(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, str]]:
    """Strings by the steps that lead to them; a list of plain values is one leaf, as JSON."""
    if isinstance(value, str):
        yield steps, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves_of(inner, (*steps, key))
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for i, inner in enumerate(value):
            yield from leaves_of(inner, (*steps, i))
    else:
        yield steps, json.dumps(value, ensure_ascii=False)


def value_at(value: Any, steps: Steps) -> Any:
    """What stands at the end of ``steps``, ``None`` if there is nothing."""
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def with_value_at(value: Any, steps: Steps, leaf: Any) -> Any:
    """A copy of ``value`` with ``leaf`` at the end of ``steps``; ``value`` itself where they lead nowhere."""
    if not steps:
        return leaf
    try:
        copy = value.copy()
        copy[steps[0]] = with_value_at(copy[steps[0]], steps[1:], leaf)
    except (KeyError, IndexError, AttributeError, TypeError):
        return value
    return copy


def path_of(index: int, steps: Steps) -> str:
    """The JSON path of ``steps`` in the tool at ``index``."""
    path = f"tools[{index}]"
    for step in steps:
        path = f"{path}[{step}]" if isinstance(step, int) else member_path(path, step)
    return path
