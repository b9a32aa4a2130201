"""The ``tojson`` filter of chat templates, with the trace of what it prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from keepwarm.trace.render.runs import Leaf, Run, unfolded
from keepwarm.trace.render.traced import Traced, compact, runs_of, traced
from keepwarm.trace.render.values import TracedDict, TracedList


class _Style(NamedTuple):
    """The options of ``json.dumps`` that a template may set."""

    ensure_ascii: bool
    indent: int | str | None
    separators: tuple[str, ...] | None
    sort_keys: bool

    def dumps(self, value: Any) -> str:
        return json.dumps(value, **self._asdict())


def tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """``json.dumps`` as transformers gives it to templates, with traces.

    Strings that JSON prints unchanged keep their character positions; escaped ones, keys and
    punctuation have a path and ``value_start`` -1. Raises what ``json.dumps`` raises.
    """
    style = _Style(ensure_ascii, indent, separators and tuple(separators), sort_keys)
    return _once(value, ("traced", style), lambda: _traced_json(value, style))


def plain_tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """The text of ``tojson`` without traces. Raises what ``json.dumps`` raises."""
    style = _Style(ensure_ascii, indent, separators and tuple(separators), sort_keys)
    return _once(value, ("plain", style), lambda: style.dumps(value))


def _once(value: Any, key: tuple[str, _Style], make: Callable[[], str]) -> str:
    """What ``make`` gives; a value that keeps the JSON texts made of it is asked for each once."""
    kept = value._json if type(value) is TracedDict or type(value) is TracedList else None
    if kept is None:
        return make()
    if key not in kept:
        kept[key] = make()
    return kept[key]


def _traced_json(value: Any, style: _Style) -> str:
    plain = style.dumps(value)
    printer = _Printer(style)
    try:
        printer.put(value, None, 0)
    except TypeError:  # keys that only the standard encoder knows
        return plain
    same = printer.is_traced and "".join(printer.texts) == plain
    return compact(traced(plain, tuple(printer.runs))) if same else plain


class _Printer:
    """Prints a value piece by piece, each with its run."""

    def __init__(self, style: _Style) -> None:
        self.texts: list[str] = []
        self.runs: list[Run] = []
        self.is_traced = False
        self._ensure_ascii = style.ensure_ascii
        self._sort_keys = style.sort_keys
        self._indent = " " * style.indent if isinstance(style.indent, int) else style.indent
        default = (", ", ": ") if style.indent is None else (",", ": ")
        self._comma, self._colon = style.separators or default

    def put(self, value: Any, leaf: Leaf | None, depth: int) -> None:
        kind = type(value)
        if kind is Traced or kind is str:
            self._string(value, leaf)
        elif isinstance(value, dict):
            self._object(value, leaf, depth)
        elif isinstance(value, list | tuple):
            self._array(value, leaf, depth)
        else:
            self._piece(json.dumps(value), leaf)

    def _piece(self, text: str, leaf: Leaf | None, value_start: int = -1) -> None:
        if text:
            self.texts.append(text)
            self.runs.append(Run(len(text), leaf, value_start))
            self.is_traced = self.is_traced or leaf is not None

    def _string(self, value: str, around: Leaf | None) -> None:
        text = json.dumps(value, ensure_ascii=self._ensure_ascii)
        runs = unfolded(runs_of(value))
        own = next((run.leaf for run in runs if type(run.leaf) is Leaf), around)
        if text[1:-1] != value:
            self._piece(text, own)
            return
        self._piece('"', own)
        if value:
            self.texts.append(text[1:-1])
            self.runs += [run if run.leaf is not None else Run(run.length, around, -1) for run in runs]
        self._piece('"', own)

    def _object(self, value: dict[Any, Any], around: Leaf | None, depth: int) -> None:
        leaf = value._leaf if type(value) is TracedDict else around
        if not value:
            self._piece("{}", leaf)
            return
        items = sorted(value.items()) if self._sort_keys else value.items()
        before = "{"
        for key, item in items:
            if not isinstance(key, str):
                raise TypeError(key)
            name = json.dumps(key, ensure_ascii=self._ensure_ascii)
            self._piece(before + self._line(depth + 1) + name + self._colon, leaf)
            self.put(item, self._inner(item, leaf), depth + 1)
            before = self._comma
        self._piece(self._line(depth) + "}", leaf)

    def _array(self, value: Any, around: Leaf | None, depth: int) -> None:
        leaf = value._leaf if type(value) is TracedList else around
        if not value:
            self._piece("[]", leaf)
            return
        before = "["
        for item in value:
            self._piece(before + self._line(depth + 1), leaf)
            self.put(item, self._inner(item, leaf), depth + 1)
            before = self._comma
        self._piece(self._line(depth) + "]", leaf)

    @staticmethod
    def _inner(item: Any, leaf: Leaf | None) -> Leaf | None:
        return leaf if not isinstance(item, TracedDict | TracedList) else item._leaf

    def _line(self, depth: int) -> str:
        return "" if self._indent is None else "\n" + self._indent * depth
