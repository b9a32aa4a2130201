"""Reports for a terminal: the parts that all of them are made of."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text


def to_text(renderable: RenderableType, *, width: int, colour: bool) -> str:
    """Render at ``width``; lines carry no trailing spaces, and only what must not be wrapped is longer."""
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    with console.capture() as captured:
        console.print(renderable, crop=False)
    return "".join(line.rstrip() + "\n" for line in captured.get().splitlines())


def heading(title: str) -> RenderableType:
    """A section's title on a rule."""
    return Rule(Text(title, style="bold"), align="left", style="dim")


def facts(rows: Iterable[tuple[str, str | Text]]) -> Table:
    """Names on the left, what they are on the right, wrapped."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, value)
    return grid
