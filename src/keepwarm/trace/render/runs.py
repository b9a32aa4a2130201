"""What a text is made of: runs of characters, each from one value of the request body."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from keepwarm.trace.prompt import Origin, Span


class Leaf:
    """A value of the request body: ``value`` is its text, or None for a container."""

    __slots__ = ("origin", "path", "value")

    def __init__(self, origin: Origin, path: str, value: str | None) -> None:
        self.origin = origin
        self.path = path
        self.value = value


class Run(NamedTuple):
    """``length`` characters from ``leaf``, copied from its character ``value_start`` on.

    ``leaf`` is None for text of the template; ``value_start`` is -1 where the characters
    encode the leaf and do not copy it. Of a ``Block`` they are the runs from there on.
    """

    length: int
    leaf: Leaf | Block | None
    value_start: int


Runs = tuple[Run, ...]


class Block:
    """Many runs under one name: a text that is printed again and again, say a tool as JSON."""

    __slots__ = ("_spans", "leaves", "length", "runs")

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.length = sum(run.length for run in runs)
        self.leaves = frozenset(id(run.leaf) for run in runs)
        self._spans: dict[int, tuple[Span, ...]] = {}

    def spans(self, position: int) -> tuple[Span, ...]:
        """The spans of the whole block printed at ``position``; kept for the last few positions."""
        found = self._spans.get(position)
        if found is None:
            if len(self._spans) >= _POSITIONS_KEPT:
                self._spans.pop(next(iter(self._spans)))
            found = self._spans[position] = tuple(spans_of(self.runs, position))
        return found


_POSITIONS_KEPT = 4
# Fewer runs than this are quicker to copy than to fold.
_WORTH_FOLDING = 24


def folded(runs: Runs) -> Runs:
    """The same runs as one, if they are many."""
    if len(runs) < _WORTH_FOLDING:
        return runs
    block = Block(tuple(unfolded(runs)))
    return (Run(block.length, block, 0),)


def unfolded(runs: Iterable[Run]) -> list[Run]:
    """The runs with blocks taken apart."""
    found: list[Run] = []
    for run in runs:
        if type(run.leaf) is Block:
            found += unfolded(cut_runs(run.leaf.runs, run.value_start, run.value_start + run.length))
        else:
            found.append(run)
    return found


def cut_runs(runs: Runs, start: int, end: int) -> Runs:
    """The runs of characters ``start:end``."""
    found: list[Run] = []
    position = 0
    for run in runs:
        after = position + run.length
        if after > start:
            low, high = max(start, position), min(end, after)
            if high - low == run.length:
                found.append(run)
            else:
                moved = run.value_start + low - position if run.value_start >= 0 else -1
                found.append(Run(high - low, run.leaf, moved))
        position = after
        if position >= end:
            break
    return tuple(found)


def spans_of(runs: Iterable[Run], position: int = 0) -> list[Span]:
    """Runs as spans from ``position`` on, neighbours of one leaf merged."""
    spans: list[Span] = []
    start = position
    leaf: Leaf | Block | None = None
    first = expected = -1
    for length, own, value_start in runs:
        if type(own) is Block:
            if position > start:
                spans.append(_span(start, position, leaf, first))
            spans += _block_spans(own, position, value_start, length)
            start = position = position + length
            continue
        if position > start and (own is not leaf or value_start != expected):
            spans.append(_span(start, position, leaf, first))
            start = position
        if position == start:
            leaf, first = own, value_start
        position += length
        expected = first + position - start if first >= 0 else -1
    if position > start:
        spans.append(_span(start, position, leaf, first))
    return spans


def _block_spans(block: Block, position: int, start: int, length: int) -> Iterable[Span]:
    if start == 0 and length == block.length:
        return block.spans(position)
    return spans_of(cut_runs(block.runs, start, start + length), position)


def _span(start: int, end: int, leaf: Leaf | Block | None, value_start: int) -> Span:
    if type(leaf) is Leaf:
        return tuple.__new__(Span, (start, end, leaf.origin, leaf.path, value_start))
    return tuple.__new__(Span, (start, end, _TEMPLATE, None, -1))


_TEMPLATE = Origin.TEMPLATE
