"""Small multiples for the HTML report: a call site's requests in order, tokens stacked by fate."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple

from keepwarm._text import clip, count, counted, share
from keepwarm.diagnose.findings import Diagnosis, RequestRow, TokenFates
from keepwarm.diagnose.report import wording
from keepwarm.trace.columns import Made

_MOST_COLUMNS = 160
_MOST_STRIPS = 12
HEIGHT = 100  # of the drawing, in its own units


class Bar(NamedTuple):
    """A column of a strip: one request, or a few neighbouring ones taken together."""

    x: int
    label: str


class Layer(NamedTuple):
    """All of one fate in a strip, as an SVG path."""

    fate: str
    path: str


class Strip(NamedTuple):
    """One call site. ``width`` is in columns; each is one unit wide."""

    site: str
    name: str
    summary: str
    width: int
    layers: tuple[Layer, ...]
    bars: tuple[Bar, ...]


def strips(diagnosis: Diagnosis) -> list[Strip]:
    """One strip per call site, the one that loses most first; at most a dozen."""
    names = wording.site_names(diagnosis)
    places: dict[str, array[int]] = {}
    for place, row in enumerate(diagnosis.rows):
        if row.counted:
            places.setdefault(row.call_site, array("q")).append(place)
    sites = [site.id for site in wording.leaderboard(diagnosis) if site.id in places]
    return [
        _strip(site, names[site], Made(len(places[site]), _at(diagnosis.rows, places[site])))
        for site in sites[:_MOST_STRIPS]
    ]


def _at(rows: Sequence[RequestRow], places: Sequence[int]) -> Callable[[int], RequestRow]:
    return lambda number: rows[places[number]]


def _strip(site: str, name: str, rows: Sequence[RequestRow]) -> Strip:
    per_bar = -(-len(rows) // _MOST_COLUMNS)
    counts, labels = [], []
    for start in range(0, len(rows), per_bar):
        group = rows[start : start + per_bar]
        counts.append(_mean_fates([row.tokens for row in group]))
        labels.append(_label(group))
    tallest = max(1.0, *map(sum, counts)) if counts else 1.0
    each = "one column a request" if per_bar == 1 else f"one column for {per_bar} requests, their mean"
    summary = (
        f"{counted(len(rows), 'request')} in order, {each}; the tallest has {count(round(tallest))} tokens"
    )
    layers = tuple(
        Layer(fate.name, path) for i, fate in enumerate(wording.FATES) if (path := _path(counts, i, tallest))
    )
    bars = tuple(Bar(x, label) for x, label in enumerate(labels))
    return Strip(site, name, summary, len(labels), layers, bars)


def _mean_fates(tokens: list[TokenFates]) -> tuple[float, ...]:
    """Mean of each fate over ``tokens``."""
    columns = zip(*map(wording.fate_counts, tokens), strict=True)
    return tuple(sum(column) / len(tokens) for column in columns)


def _path(counts: list[tuple[float, ...]], layer: int, tallest: float) -> str:
    """Rectangles of one fate over all columns, stacked on those of the fates before it."""
    boxes = []
    for x, column in enumerate(counts):
        if column[layer]:
            height = column[layer] * HEIGHT / tallest
            top = HEIGHT - sum(column[: layer + 1]) * HEIGHT / tallest
            boxes.append(f"M{x} {top:.2f}h1v{height:.2f}h-1z")
    return "".join(boxes)


def _label(group: Sequence[RequestRow]) -> str:
    """What a column says when pointed at."""
    first, last = group[0], group[-1]
    name = clip(first.id, 60) if first is last else f"{clip(first.id, 40)} to {clip(last.id, 40)}"
    totals = [sum(column) for column in zip(*(wording.fate_counts(row.tokens) for row in group), strict=True)]
    parts = [
        f"{fate.name} {count(number)} ({share(number, sum(totals))})"
        for fate, number in zip(wording.FATES, totals, strict=True)
        if number
    ]
    causes = sorted({cause for row in group for cause in row.causes})
    return ", ".join([name, *parts]) + (f"; {', '.join(causes)}" if causes else "")
