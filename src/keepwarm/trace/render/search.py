"""The last resort of provenance: look for values whose trace was lost.

A template can take a text apart in ways that ``Traced`` does not follow. What it printed then
looks like template text. Values that are nowhere in the traced spans are searched, in the order
of the body, in the untraced stretches; what is found is a copy, by comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from keepwarm.trace.render.runs import Block, Leaf, Run
from keepwarm.trace.render.traced import Traced
from keepwarm.trace.render.values import TracedDict, TracedList

# Shorter values (roles, types) would be found by chance in the template's own words.
MIN_CHARS = 8


def recover(text: str, runs: list[Run], roots: Iterable[Any]) -> list[Run]:
    """``runs`` with untraced stretches of ``text`` replaced by copies of values found in them."""
    stretches: set[str] = set()
    seen: set[int] = set()
    position = 0
    for length, leaf, _ in runs:
        if leaf is None:
            if length >= MIN_CHARS:
                stretches.add(text[position : position + length])
        elif type(leaf) is Block:
            seen |= leaf.leaves
        else:
            seen.add(id(leaf))
        position += length
    longest = max(map(len, stretches), default=0)
    untraced = "\0".join(sorted(stretches))
    lost = [value for value in _unseen(roots, seen) if MIN_CHARS <= len(value.text) <= longest]
    lost = [value for value in lost if value.text in untraced]
    return _place(text, runs, lost) if lost else runs


class _Value:
    """A leaf that has a text."""

    __slots__ = ("leaf", "text")

    def __init__(self, leaf: Leaf, text: str) -> None:
        self.leaf = leaf
        self.text = text


def _unseen(values: Iterable[Any], seen: set[int]) -> Iterator[_Value]:
    """Leaves below wrapped values of which nothing was printed, in the order of the body.

    A container whose own punctuation was printed has been printed as a whole.
    """
    for value in values:
        kind = type(value)
        if kind is Traced:
            leaf = value._runs[0].leaf
            if type(leaf) is Leaf and leaf.value is not None and id(leaf) not in seen:
                yield _Value(leaf, leaf.value)
        elif kind is TracedDict:
            if not value._whole and id(value._leaf) not in seen:
                yield from _unseen(value.values(), seen)
        elif kind is TracedList:
            if id(value._leaf) not in seen:
                yield from _unseen(value, seen)
        elif kind is list:
            yield from _unseen(value, seen)
        elif kind is dict:
            yield from _unseen(value.values(), seen)


def _place(text: str, runs: list[Run], lost: list[_Value]) -> list[Run]:
    """Put the values where they are found first, in order; one that is not found is passed over."""
    found: list[Run] = []
    position = 0
    next_value = 0
    for run in runs:
        end = position + run.length
        if run.leaf is not None:
            found.append(run)
            position = end
            continue
        for index in range(next_value, len(lost)):
            value = lost[index]
            at = text.find(value.text, position, end)
            if at < 0:
                continue
            if at > position:
                found.append(Run(at - position, None, -1))
            found.append(Run(len(value.text), value.leaf, 0))
            position = at + len(value.text)
            next_value = index + 1
        if end > position:
            found.append(Run(end - position, None, -1))
        position = end
    return found
