"""The cells of a sweep: one simulation each, with a key that says what determines its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, NewType

from keepwarm.cache.options import TraceOptions
from keepwarm.serving.options import ServingOptions

CellKey = NewType("CellKey", str)
Figures = Mapping[str, int | float | None]  # by column of ``columns.FIGURES``; a column left out is null
Settings = Mapping[str, str | int | float | bool | None]  # by column of ``columns.SETTINGS``


class CacheRun(NamedTuple):
    """One policy at one capacity."""

    policy: str
    capacity_blocks: int
    ignore_output: bool
    match_unit_tokens: int | None


class Cell(NamedTuple):
    """One simulation. ``key``: a digest of what determines its figures; ``settings``: for people."""

    key: CellKey
    run: CacheRun | ServingOptions
    settings: Settings

    def name(self) -> str:
        """In one line."""
        return ", ".join(
            f"{name} {value}"
            for name, value in self.settings.items()
            if value is not None and name not in ("kind", "trace_sha256")
        )


class Source(NamedTuple):
    """A trace to read in one way; ``serving``: as sessions, not as one stream of requests."""

    path: str
    options: TraceOptions
    serving: bool


class Group(NamedTuple):
    """Cells of one source, which is read once for all of them."""

    source: Source
    cells: Sequence[Cell]
