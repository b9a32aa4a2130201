"""The last resort of provenance: look for values whose trace was lost.

A template can take a text apart in ways that ``Traced`` does not follow. What it printed then
looks like template text. Values that are nowhere in the traced spans are searched, in the order
of the body, in the untraced stretches; what is found is a copy, by comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from keepwarm.trace.render.traced import Leaf, Run, Traced
from keepwarm.trace.render.values import TracedDict, TracedList

# Shorter values (roles, types) would be found by chance in the template's own words.
MIN_CHARS = 8


def recover(text: str, runs: list[Run], roots: Iterable[Any]) -> list[Run]:
    """``runs`` with untraced stretches of ``text`` replaced by copies of values found in them."""
    longest = max((run.length for run in runs if run.leaf is None), default=0)
    if longest < MIN_CHARS:
        return runs
    seen = {id(run.leaf) for run in runs}
    lost = [
        leaf
        for leaf in leaves(roots)
        if id(leaf) not in seen and leaf.value is not None and MIN_CHARS <= len(leaf.value) <= longest
    ]
    lost = [leaf for leaf in lost if leaf.value is not None and leaf.value in text]
    return _place(text, runs, lost) if lost else runs


def leaves(roots: Iterable[Any]) -> Iterator[Leaf]:
    """Every text leaf below wrapped values, in the order of the body."""
    for value in roots:
        if type(value) is Traced:
            for run in value._runs:
                if run.leaf is not None:
                    yield run.leaf
        elif type(value) is TracedDict:
            if not value._whole:
                yield from leaves(value.values())
        elif type(value) is TracedList or type(value) is list:
            yield from leaves(value)
        elif type(value) is dict:
            yield from leaves(value.values())


def _place(text: str, runs: list[Run], lost: list[Leaf]) -> list[Run]:
    found: list[Run] = []
    position = 0
    waiting = iter(lost)
    leaf = next(waiting, None)
    for run in runs:
        end = position + run.length
        if run.leaf is None:
            while leaf is not None and leaf.value is not None:
                at = text.find(leaf.value, position, end)
                if at < 0:
                    if _is_later(text, leaf.value, end):
                        break
                    leaf = next(waiting, None)
                    continue
                if at > position:
                    found.append(Run(at - position, None, -1))
                found.append(Run(len(leaf.value), leaf, 0))
                position = at + len(leaf.value)
                leaf = next(waiting, None)
            if end > position:
                found.append(Run(end - position, None, -1))
        else:
            found.append(run)
        position = end
    return found


def _is_later(text: str, value: str, position: int) -> bool:
    return text.find(value, position) >= 0
