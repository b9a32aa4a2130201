"""How the tool lists of a call site differ: order, serialisation, membership, text."""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from keepwarm.diagnose.callsites import tool_name
from keepwarm.diagnose.tool_texts import Steps, leaves_of, path_of, value_at, with_value_at
from keepwarm.trace.catalog import Catalog, Row
from keepwarm.trace.contents import ContentId
from keepwarm.trace.records import JsonObject


class ToolText(NamedTuple):
    """A leaf of one tool whose text varies: where it stands, and its value per row."""

    place: int  # in the list of tools
    path: str
    values: Mapping[int, str]
    constant: Mapping[ContentId, JsonObject]  # each variant with the leaf as it was first


class ToolChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Rows by what is different about their tools; ``names`` in order of first appearance."""

    names: tuple[str, ...]
    reordered: tuple[int, ...]
    reserialised: tuple[int, ...]
    toggled: tuple[int, ...]
    first_reordered: int | None  # place in the list of the first tool out of order
    first_reserialised: int | None
    first_toggled: int | None
    first_serialisation: Mapping[ContentId, JsonObject]
    missing: Mapping[int, tuple[JsonObject, ...]]
    texts: tuple[ToolText, ...]


def tool_changes(
    catalog: Catalog, rows: Sequence[Row], parents: Mapping[int, int | None], sessions: Sequence[str]
) -> ToolChanges:
    """Compare the tools of each request with those seen first at its call site."""
    read = functools.lru_cache(maxsize=None)(lambda content: _Tool(content, catalog.store.get(content)))
    lists = {row.index: [read(content) for content in row.tools] for row in rows}
    names = _merged_order(lists.values())
    rank = {name: i for i, name in enumerate(names)}
    reordered = {i: place for i, tools in lists.items() if (place := _out_of_order(tools, rank)) is not None}
    first_of = _first_serialisations(lists)
    reserialised = {
        i: place
        for i, tools in lists.items()
        if (place := _first_place(tools, lambda tool: tool.content in first_of)) is not None
    }
    toggled = _toggled(rows, lists, parents)
    return ToolChanges(
        names=tuple(names),
        reordered=tuple(reordered),
        reserialised=tuple(reserialised),
        toggled=tuple(toggled),
        first_reordered=min(reordered.values(), default=None),
        first_reserialised=min(reserialised.values(), default=None),
        first_toggled=min(toggled.values(), default=None),
        first_serialisation=first_of,
        missing=_missing(rows, lists, sessions) if toggled else {},
        texts=tuple(_texts(lists)),
    )


class _Tool:
    """A tool definition with the forms it is compared by."""

    def __init__(self, content: ContentId, value: JsonObject) -> None:
        self.content = content
        self.value = value
        self.name = tool_name(value)
        self.canonical = json.dumps(_sorted(value), sort_keys=True)

    @functools.cached_property
    def leaves(self) -> dict[Steps, str]:
        return dict(leaves_of(self.value))


def _sorted(value: Any) -> Any:
    """Lists of plain values in a fixed order: the order of an enum or of required names means nothing."""
    if isinstance(value, dict):
        return {key: _sorted(inner) for key, inner in value.items()}
    if isinstance(value, list):
        plain = not any(isinstance(inner, dict | list) for inner in value)
        return sorted(value, key=repr) if plain else [_sorted(inner) for inner in value]
    return value


def _merged_order(lists: Iterable[Sequence[_Tool]]) -> list[str]:
    """Names in the order of the first list; later ones stand behind the neighbour they came with."""
    names: list[str] = []
    for tools in lists:
        at = 0
        for tool in tools:
            if tool.name in names:
                at = names.index(tool.name) + 1
            else:
                names.insert(at, tool.name)
                at += 1
    return names


def _out_of_order(tools: Sequence[_Tool], rank: Mapping[str, int]) -> int | None:
    ranks = [rank[tool.name] for tool in tools]
    return next((i for i, (a, b) in enumerate(zip(ranks, sorted(ranks), strict=True)) if a != b), None)


def _first_place(tools: Sequence[_Tool], is_it: Callable[[_Tool], bool]) -> int | None:
    return next((i for i, tool in enumerate(tools) if is_it(tool)), None)


def _first_serialisations(lists: Mapping[int, Sequence[_Tool]]) -> dict[ContentId, JsonObject]:
    """For each later serialisation of an equal tool, the object as it was first written."""
    first: dict[str, _Tool] = {}
    out: dict[ContentId, JsonObject] = {}
    for tools in lists.values():
        for tool in tools:
            original = first.setdefault(tool.canonical, tool)
            if original.content != tool.content:
                out[tool.content] = original.value
    return out


def _toggled(
    rows: Sequence[Row], lists: Mapping[int, Sequence[_Tool]], parents: Mapping[int, int | None]
) -> dict[int, int]:
    """Rows whose set of tools is not that of the request before, with the first place that differs.

    Before: in the same session; where sessions are single calls, at the same call site.
    """
    has_sessions = any(parents[row.index] is not None for row in rows)
    out: dict[int, int] = {}
    previous: Row | None = None
    for row in rows:
        parent = parents[row.index] if has_sessions else (previous.index if previous else None)
        previous = row
        if parent is None:
            continue
        before, now = lists[parent], lists[row.index]
        if {tool.name for tool in before} != {tool.name for tool in now}:
            pairs = zip(before, now, strict=False)
            place = next(
                (i for i, (a, b) in enumerate(pairs) if a.name != b.name), min(len(before), len(now))
            )
            out[row.index] = place
    return out


def _missing(
    rows: Sequence[Row], lists: Mapping[int, Sequence[_Tool]], sessions: Sequence[str]
) -> dict[int, tuple[JsonObject, ...]]:
    """The tools a row would offer in addition if its session offered all of them from the start."""
    has_sessions = len({sessions[row.index] for row in rows}) < len(rows)
    everything: dict[str, dict[str, JsonObject]] = defaultdict(dict)
    for row in rows:
        group = sessions[row.index] if has_sessions else ""
        for tool in lists[row.index]:
            everything[group].setdefault(tool.name, tool.value)
    out = {}
    for row in rows:
        group = sessions[row.index] if has_sessions else ""
        own = {tool.name for tool in lists[row.index]}
        out[row.index] = tuple(value for name, value in everything[group].items() if name not in own)
    return out


def _texts(lists: Mapping[int, Sequence[_Tool]]) -> Iterator[ToolText]:
    """Leaves that differ between versions of one tool, those of key order aside."""
    by_name: dict[str, dict[int, _Tool]] = defaultdict(dict)
    places: dict[str, int] = {}
    for row, tools in lists.items():
        for i, tool in enumerate(tools):
            by_name[tool.name][row] = tool
            places.setdefault(tool.name, i)
    for name, versions in by_name.items():
        if len({tool.canonical for tool in versions.values()}) < 2:
            continue
        shapes = [tool.leaves for tool in versions.values()]
        for steps in shapes[0]:
            values = {row: tool.leaves.get(steps, "") for row, tool in versions.items()}
            if len(set(values.values())) > 1:
                constant = _with_first_value(versions.values(), steps)
                yield ToolText(places[name], path_of(places[name], steps), values, constant)


def _with_first_value(versions: Iterable[_Tool], steps: Steps) -> dict[ContentId, JsonObject]:
    first: Any = None
    out: dict[ContentId, JsonObject] = {}
    for tool in versions:
        if first is None:
            first = value_at(tool.value, steps)
        elif tool.content not in out:
            out[tool.content] = with_value_at(tool.value, steps, first)
    return out
