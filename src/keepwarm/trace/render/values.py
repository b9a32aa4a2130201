"""Values of a request body, wrapped so that a template's use of them can be traced."""

from __future__ import annotations

from typing import Any

from keepwarm.trace.prompt import Origin, member_path
from keepwarm.trace.render.runs import Leaf
from keepwarm.trace.render.traced import copied, encoded


class TracedDict(dict[str, Any]):
    """A JSON object that knows its path. A ``dict`` in every other respect.

    ``_whole`` is true where every character printed of it encodes one value (tool-call
    arguments, which the body holds as a string).
    """

    __slots__ = ("_json", "_leaf", "_whole")
    _leaf: Leaf
    _whole: bool
    _json: dict[Any, str] | None  # JSON texts already made of it; None: do not keep any

    def __str__(self) -> str:
        return encoded(dict.__repr__(self), self._leaf)


class TracedList(list[Any]):
    """A JSON array that knows its path. A ``list`` in every other respect."""

    __slots__ = ("_json", "_leaf", "_whole")
    _leaf: Leaf
    _whole: bool
    _json: dict[Any, str] | None

    def __str__(self) -> str:
        return encoded(list.__repr__(self), self._leaf)


class Wrapper:
    """Wraps values with their path; ``plain`` leaves them as they are."""

    def __init__(self, *, plain: bool = False) -> None:
        self.plain = plain

    def text(self, value: str, path: str, origin: Origin) -> str:
        """A string that remembers its path."""
        return value if self.plain else copied(Leaf(origin, path, value))

    def code(self, value: str, path: str, origin: Origin, source: str | None = None) -> str:
        """Text that stands for the value at ``path`` without being a copy of it."""
        return value if self.plain else encoded(value, Leaf(origin, path, source))

    def tree(self, value: Any, path: str, origin: Origin, *, keep_json: bool = False) -> Any:
        """A JSON value of any shape, each string with its own path.

        ``keep_json`` lets objects and arrays remember the JSON texts made of them: for values
        that many requests share.
        """
        if self.plain:
            return value
        if isinstance(value, str):
            return copied(Leaf(origin, path, value))
        if isinstance(value, dict):
            leaf = Leaf(origin, path, None)
            found = TracedDict()
            for key, item in value.items():
                wrapped = self.tree(item, member_path(path, key), origin, keep_json=keep_json)
                found[encoded(key, leaf)] = wrapped
            return _known(found, leaf, whole=False, keep_json=keep_json)
        if isinstance(value, list):
            items = [
                self.tree(item, f"{path}[{i}]", origin, keep_json=keep_json) for i, item in enumerate(value)
            ]
            return _known(TracedList(items), Leaf(origin, path, None), whole=False, keep_json=keep_json)
        return value

    def shared(self, tools: list[Any], path: str) -> Any:
        """Tools that many requests have in common: they keep the JSON texts made of them."""
        if not self.plain:
            return self.tree(tools, path, Origin.APP, keep_json=True)
        items = [
            _known(TracedDict(tool), Leaf(Origin.APP, f"{path}[{i}]", None), whole=False, keep_json=True)
            if isinstance(tool, dict)
            else tool
            for i, tool in enumerate(tools)
        ]
        return _known(TracedList(items), Leaf(Origin.APP, path, None), whole=False, keep_json=True)

    def decoded(self, value: Any, leaf: Leaf) -> Any:
        """A value decoded from the text of ``leaf``: all of it encodes that text."""
        if self.plain:
            return value
        if isinstance(value, str):
            return encoded(value, leaf)
        if isinstance(value, dict):
            found = TracedDict((encoded(key, leaf), self.decoded(item, leaf)) for key, item in value.items())
            return _known(found, leaf, whole=True, keep_json=False)
        if isinstance(value, list):
            return _known(
                TracedList(self.decoded(item, leaf) for item in value), leaf, whole=True, keep_json=False
            )
        return value

    def record(self, fields: dict[str, Any], path: str, origin: Origin) -> Any:
        """An object whose members are wrapped already."""
        if self.plain:
            return fields
        return _known(TracedDict(fields), Leaf(origin, path, None), whole=False, keep_json=False)

    def records(self, items: list[Any], path: str, origin: Origin) -> Any:
        """An array whose members are wrapped already."""
        if self.plain:
            return items
        return _known(TracedList(items), Leaf(origin, path, None), whole=False, keep_json=False)


def _known(value: Any, leaf: Leaf, *, whole: bool, keep_json: bool) -> Any:
    value._leaf = leaf
    value._whole = whole
    value._json = {} if keep_json else None
    return value
