"""One HTML file that shows a document of evidence: no network, no script, light and dark.

What is shown is made of sections of facts and tables; every text goes through ``visible`` and then through
the template's escaping.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from keepwarm import __version__
from keepwarm._text import visible

if TYPE_CHECKING:
    import jinja2

_PACKAGE = "keepwarm.evidence"
_MOST_ROWS = 500  # more than anybody reads; the Parquet beside the page has all
_MOST_MARKS = 2_000


class Figure(NamedTuple):
    """A large number with what it is, and what stands below it."""

    label: str
    value: str
    note: str = ""


class Table(NamedTuple):
    """Rows under headings; ``numbers`` are the columns that are set right."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


class Mark(NamedTuple):
    """A dot of a strip: ``x`` and ``y`` from 0 to 1, ``kind`` one of a, b, miss, and what it says."""

    x: float
    y: float
    kind: str
    title: str


class Section(NamedTuple):
    """A part of the page. ``facts`` are names with values; ``sentences`` a list; ``marks`` dots."""

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    sentences: tuple[str, ...] = ()
    table: Table | None = None
    marks: tuple[Mark, ...] = ()
    caption: str = ""


class Page(NamedTuple):
    """The whole page."""

    title: str
    verdict: str
    figures: tuple[Figure, ...]
    sections: tuple[Section, ...]
    warnings: tuple[str, ...] = ()


def heights(times_s: Sequence[float]) -> Callable[[float], float]:
    """Where on a strip a time stands: logarithmic from the least to the most, for some are far above."""
    positive = [time_s for time_s in times_s if time_s > 0]
    least, most = min(positive, default=1.0), max(positive, default=1.0)
    span = math.log(most / least)

    def height(time_s: float) -> float:
        return math.log(max(time_s, least) / least) / span if span else 0.5

    return height


def scale(times_s: Sequence[float]) -> str:
    """The scale in words."""
    if not times_s:
        return "no times"
    return f"logarithmic from {min(times_s):.4f} s at the bottom to {max(times_s):.3f} s at the top"


def to_html(page: Page) -> bytes:
    """The page as UTF-8; the same bytes for the same page."""
    template = _environment().get_template("evidence.html.jinja")
    sections = tuple(section._replace(marks=_thinned(section.marks)) for section in page.sections)
    html = template.render(
        page=page._replace(sections=sections), style=_style(), version=__version__, most=_MOST_ROWS
    )
    return html.encode("utf-8", "backslashreplace")


def _thinned(marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
    """Evenly, to as many as can be told apart."""
    return marks[:: -(-len(marks) // _MOST_MARKS) or 1]


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader(_PACKAGE, "assets"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Whatever the template prints is made visible first: no place can forget to.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )


def _style() -> Any:
    """Our own style sheet, which the template must not escape."""
    import markupsafe

    text = resources.files(_PACKAGE).joinpath("assets", "evidence.css").read_text(encoding="utf-8").strip()
    return markupsafe.Markup(text)  # noqa: S704 - a file of this package, never recorded text
