"""Text that remembers where it came from.

``Traced`` is a ``str`` that carries its origin through the operations that chat templates
use: ``+``, ``~``, slices, strip, split, replace, join, formatting, upper and lower. It
compares, hashes and prints as the plain text does, so a template cannot tell the difference.
An operation that is not covered gives a plain ``str``: the trace ends there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsIndex

from keepwarm.trace.render.runs import Leaf, Run, Runs, cut_runs, folded, unfolded


class Traced(str):
    """Text with the runs it is made of; their lengths add up to ``len(self)``.

    Make one with ``traced``. Never mutated. The attribute starts with an underscore, which
    the sandbox of chat templates refuses.
    """

    __slots__ = ("_runs",)
    _runs: Runs

    def __str__(self) -> str:
        return self  # ``str(x)`` in compiled templates must not lose the trace

    def __add__(self, other: str) -> str:
        if type(other) is str or type(other) is Traced:
            return traced(str.__add__(self, other), self._runs + runs_of(other))
        return NotImplemented

    def __radd__(self, other: str) -> str:
        if type(other) is str:
            return traced(str.__add__(other, self), runs_of(other) + self._runs)
        return NotImplemented

    def __mul__(self, times: SupportsIndex) -> str:
        text = str.__mul__(self, times)
        return traced(text, self._runs * times.__index__()) if text else ""

    __rmul__ = __mul__

    def __getitem__(self, key: SupportsIndex | slice[Any, Any, Any]) -> str:
        text = str.__getitem__(self, key)
        if not text:
            return ""
        if isinstance(key, slice):
            start, _, step = key.indices(len(self))
            return self._cut(start, text) if step == 1 else text
        index = key.__index__()
        return self._cut(index if index >= 0 else index + len(self), text)

    def _cut(self, start: int, text: str) -> str:
        """``text``, which is what this text holds from ``start`` on."""
        if not text:
            return ""
        if len(text) == len(self):
            return self
        return traced(text, cut_runs(self._runs, start, start + len(text)))

    def strip(self, chars: str | None = None, /) -> str:
        return self._cut(len(self) - len(str.lstrip(self, chars)), str.strip(self, chars))

    def lstrip(self, chars: str | None = None, /) -> str:
        text = str.lstrip(self, chars)
        return self._cut(len(self) - len(text), text)

    def rstrip(self, chars: str | None = None, /) -> str:
        return self._cut(0, str.rstrip(self, chars))

    def removeprefix(self, prefix: str, /) -> str:
        text = str.removeprefix(self, prefix)
        return self._cut(len(self) - len(text), text)

    def removesuffix(self, suffix: str, /) -> str:
        return self._cut(0, str.removesuffix(self, suffix))

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return self._cut_each(str.split(self, sep, maxsplit), sep)

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return self._cut_each(str.rsplit(self, sep, maxsplit), sep)

    def _cut_each(self, parts: list[str], sep: str | None) -> list[str]:
        found: list[str] = []
        position = 0
        for part in parts:
            if sep is None:
                position = str.index(self, part, position)
            found.append(self._cut(position, part))
            position += len(part) + len(sep or "")
        return found

    def splitlines(self, keepends: bool = False) -> list[str]:
        found: list[str] = []
        position = 0
        for line, whole in zip(str.splitlines(self, keepends), str.splitlines(self, True), strict=True):
            found.append(self._cut(position, line))
            position += len(whole)
        return found

    def partition(self, sep: str, /) -> tuple[str, str, str]:
        return self._three(str.partition(self, sep))

    def rpartition(self, sep: str, /) -> tuple[str, str, str]:
        return self._three(str.rpartition(self, sep))

    def _three(self, parts: tuple[str, str, str]) -> tuple[str, str, str]:
        head, middle, tail = parts
        return (
            self._cut(0, head),
            self._cut(len(head), middle),
            self._cut(len(head) + len(middle), tail),
        )

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> str:
        return replace(self, old, new, count)

    def join(self, parts: Iterable[str], /) -> str:
        return join(self, parts)

    def upper(self) -> str:
        return recoded(self, str.upper(self))

    def lower(self) -> str:
        return recoded(self, str.lower(self))

    def capitalize(self) -> str:
        return recoded(self, str.capitalize(self))

    def title(self) -> str:
        return recoded(self, str.title(self))

    def casefold(self) -> str:
        return recoded(self, str.casefold(self))

    def center(self, width: SupportsIndex, fill: str = " ", /) -> str:
        text = str.center(self, width, fill)
        # Python puts the odd blank on the left only when the width is odd too.
        spare = len(text) - len(self)
        left = spare // 2 + (spare & len(text) & 1)
        return _padded(self, text, left)

    def ljust(self, width: SupportsIndex, fill: str = " ", /) -> str:
        return _padded(self, str.ljust(self, width, fill), 0)

    def rjust(self, width: SupportsIndex, fill: str = " ", /) -> str:
        text = str.rjust(self, width, fill)
        return _padded(self, text, len(text) - len(self))


def traced(text: str, runs: Runs) -> str:
    """``text`` with its runs, whose lengths must add up to ``len(text)``."""
    if not text:
        return ""
    made = Traced(text)
    made._runs = runs
    return made


def compact(text: str) -> str:
    """The same text, quicker to join with others if it is made of many runs."""
    return traced(str.__str__(text), folded(text._runs)) if type(text) is Traced else text


def copied(leaf: Leaf) -> str:
    """The whole value of a leaf."""
    return traced(leaf.value, (Run(len(leaf.value), leaf, 0),)) if leaf.value else ""


def encoded(text: str, leaf: Leaf) -> str:
    """Text that encodes a leaf without being a copy of it."""
    return traced(text, (Run(len(text), leaf, -1),)) if text else ""


def runs_of(text: str) -> Runs:
    """The runs of any text; plain text is one run of the template."""
    if type(text) is Traced:
        return text._runs
    return (Run(len(text), None, -1),) if text else ()


def concat(pieces: Iterable[str]) -> str:
    """Join pieces with nothing between them; what compiled templates call on their output."""
    listed = list(pieces)
    text = "".join(listed)
    runs: list[Run] = []
    is_traced = False
    for piece in listed:
        if type(piece) is Traced:
            runs += piece._runs
            is_traced = True
        elif piece:
            runs.append(Run(len(piece), None, -1))
    return traced(text, tuple(runs)) if is_traced else text


def join(separator: str, parts: Iterable[str]) -> str:
    """``separator.join(parts)`` with the trace of all of them."""
    listed = list(parts)
    text = str.join(separator, listed)  # raises what Python raises
    pieces: list[str] = []
    for index, part in enumerate(listed):
        if index:
            pieces.append(separator)
        pieces.append(part)
    return concat(pieces) if any(type(piece) is Traced for piece in pieces) else text


def replace(text: str, old: str, new: str, count: SupportsIndex = -1) -> str:
    """``text.replace(old, new, count)`` with the trace of ``text`` and ``new``."""
    plain = str.replace(text, old, new, count)
    if not old or (type(text) is str and type(new) is str):
        return plain
    limit = count.__index__()
    pieces: list[str] = []
    position = 0
    while limit != 0 and (found := str.find(text, old, position)) >= 0:
        pieces += (text[position:found], new)
        position = found + len(old)
        limit -= 1
    pieces.append(text[position:])
    return concat(pieces)


def recoded(text: str, other: str) -> str:
    """``other``, made from ``text`` character by character: paths stay, copies end where they differ."""
    if other == text:
        return text
    runs = unfolded(runs_of(text))
    if len(other) != len(text):
        only = runs[0].leaf if len({id(run.leaf) for run in runs}) == 1 else None
        return encoded(other, only) if type(only) is Leaf else other
    found: list[Run] = []
    position = 0
    for run in runs:
        end = position + run.length
        same = text[position:end] == other[position:end]
        found.append(run if same else Run(run.length, run.leaf, -1))
        position = end
    return traced(other, tuple(found))


def _padded(text: str, padded: str, left: int) -> str:
    return concat((padded[:left], text, padded[left + len(text) :]))
