"""What the sweep of ComputeCache's parameters comes to: a criterion for the defaults, and its tables.

The defaults are the setting that, of those that keep the hot prefix through the floods that ``KEPT_PROMPTS``
names and are nowhere more than ``MOST_LOST_POINTS`` below LRU on a recorded trace, gains most over LRU: the
mean over traces of the mean over capacities, to a hundredth of a point; of equals the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from keepwarm.policies.computecache import (
    LEAST_STALE_BLOCKS,
    PROTECTED_SHARE,
    SCAN_LIMIT,
    STALE_TURNOVERS,
)
from scripts.sweep_traces import Case

SHARES = (0.1, 0.25, 0.4, 0.5, 0.75, 1.0)
TURNOVERS = (1.0, 4.0, 16.0, 64.0, 256.0)
FLOORS = (0, 4_096, 16_384, 32_768)
SCAN_LIMITS = (1, 4, 16, 64)
MOST_LOST_POINTS = 2.0
KEPT_PROMPTS = {127: 320, 8191: 2560}  # most prompts by capacity: 128 and 16 turnovers
OTHERS = ("lru", "slru", "computecache-window", "belady")


KEPT = " and ".join(f"{prompts:,} prompts at {blocks:,} blocks" for blocks, prompts in KEPT_PROMPTS.items())
BY_SHARE = (
    "Points over LRU: mean of the recorded traces / their worst cell / mean of the floods. Bold: keeps the "
    f"hot prefix through {KEPT}. By share and turnovers, with a floor of {LEAST_STALE_BLOCKS:,}:"
)
BY_FLOOR = f"By floor (`least_stale_blocks`) and turnovers, with a share of {PROTECTED_SHARE:g}:"
BY_HARDER_TRACES = (
    "What a floor costs in small pools that serve for long, as points over LRU, mean / worst cell: agent "
    "sessions cut into blocks of more tokens, and short traces played over and over with new prefixes each "
    "time. By floor, the rest as chosen:"
)
BY_TRACE = (
    "Hit rates in percent with the defaults, each the mean over the capacities (blocks × tokens), and the "
    "cells where `computecache` is furthest below and above LRU:"
)


class Setting(NamedTuple):
    """Parameters of ``computecache``, by their names."""

    protected_share: float = PROTECTED_SHARE
    stale_turnovers: float = STALE_TURNOVERS
    least_stale_blocks: float = LEAST_STALE_BLOCKS
    hits_decay: bool = False
    scan_limit: int = SCAN_LIMIT

    def at(self, capacity_blocks: int) -> Setting:
        """The same rule at this capacity, without turnovers."""
        stale_blocks = max(self.stale_turnovers * capacity_blocks, self.least_stale_blocks)
        return self._replace(stale_turnovers=0.0, least_stale_blocks=stale_blocks)


DEFAULT = Setting()
GRID = tuple(itertools.starmap(Setting, itertools.product(SHARES, TURNOVERS, FLOORS, (False, True))))
LIMITS = tuple(
    Setting(hits_decay=decay, scan_limit=limit) for limit in SCAN_LIMITS for decay in (False, True)
)
FLOOR_SETTINGS = tuple(Setting(least_stale_blocks=floor) for floor in FLOORS)
SETTINGS = tuple(dict.fromkeys(GRID + LIMITS))


class Cell(NamedTuple):
    """Hit rates in percent of one trace at one capacity: other policies, and ``computecache`` by setting."""

    case: Case
    capacity_blocks: int
    others: dict[str, float]
    settings: dict[Setting, float]

    def gain(self, setting: Setting) -> float:
        """Percentage points over LRU."""
        return self.settings[setting] - self.others["lru"]


class Summary(NamedTuple):
    """One setting: points over LRU, the mean and the worst cell of recorded traces and the mean of floods."""

    gain: float
    worst: float
    flood_gain: float
    keeps_hot: bool  # through the floods of KEPT_PROMPTS

    def text(self) -> str:
        """Bold if the hot prefix is kept."""
        figures = " / ".join(map(points, (self.gain, self.worst, self.flood_gain)))
        return f"**{figures}**" if self.keeps_hot else figures


class Report(NamedTuple):
    """Markdown, and whether the criterion chooses what the code has."""

    text: str
    confirms_defaults: bool


def report(cells: Sequence[Cell]) -> Report:
    """All tables, from the cells of all cases in order."""
    measured = [cell for cell in cells if cell.case.kind in ("recorded", "flood")]
    summaries = {setting: summarise(measured, setting) for setting in SETTINGS}
    chosen = choose(summaries)
    decay = max(
        abs(cell.settings[setting] - cell.settings[setting._replace(hits_decay=True)])
        for cell in measured
        for setting in GRID
    )
    parts = [
        BY_SHARE,
        grid_table({f"share {share:g}": Setting(share) for share in SHARES}, summaries),
        BY_FLOOR,
        grid_table({f"floor {each.least_stale_blocks:,}": each for each in FLOOR_SETTINGS}, summaries),
        choice(chosen, decay),
        limit_table(summaries),
        BY_HARDER_TRACES,
        floor_table(cells),
        BY_TRACE,
        trace_table(measured),
    ]
    text = "\n\n".join(part if isinstance(part, str) else "\n".join(part) for part in parts)
    return Report(text, chosen == DEFAULT)


def choice(chosen: Setting, decay_points: float) -> str:
    """In words."""
    return (
        f"The criterion chooses a share of {chosen.protected_share:g}, {chosen.stale_turnovers:g} turnovers, "
        f"a floor of {chosen.least_stale_blocks:,}, hits that {'decay' if chosen.hits_decay else 'stay'}. "
        f"Decay moves no cell of the grid by more than {decay_points:.2f} points. By `scan_limit`, the rest "
        "as chosen:"
    )


def choose(summaries: dict[Setting, Summary]) -> Setting:
    """By the criterion on top."""
    fit = [
        setting
        for setting in GRID
        if summaries[setting].keeps_hot and summaries[setting].worst >= -MOST_LOST_POINTS
    ]
    return max(fit, key=lambda setting: round(summaries[setting].gain, 2))


def summarise(cells: Sequence[Cell], setting: Setting) -> Summary:
    """Each trace counts the same, and so does each capacity of a trace."""
    recorded = [cell for cell in cells if cell.case.kind == "recorded"]
    floods = [cell for cell in cells if cell.case.kind == "flood"]
    return Summary(
        mean_gain(recorded, setting),
        min(cell.gain(setting) for cell in recorded),
        mean_gain(floods, setting),
        all(
            cell.settings[setting] == cell.others["belady"]
            for cell in floods
            if cell.case.flood_prompts <= KEPT_PROMPTS.get(cell.capacity_blocks, 0)
        ),
    )


def mean_gain(cells: Sequence[Cell], setting: Setting) -> float:
    """The mean over traces of the mean over capacities."""
    return fmean(fmean(cell.gain(setting) for cell in of_case) for of_case in by_case(cells))


def by_case(cells: Sequence[Cell]) -> list[list[Cell]]:
    """The cells of each trace, in order."""
    return [list(group) for _, group in itertools.groupby(cells, key=lambda cell: cell.case.name)]


def grid_table(rows: dict[str, Setting], summaries: dict[Setting, Summary]) -> Iterator[str]:
    """Settings by turnovers, with hits that stay."""
    yield "| turnovers | " + " | ".join(f"{stale:g}" for stale in TURNOVERS) + " |"
    yield "| --- |" + " --- |" * len(TURNOVERS)
    for name, setting in rows.items():
        row = (summaries[setting._replace(stale_turnovers=stale)].text() for stale in TURNOVERS)
        yield f"| {name} | {' | '.join(row)} |"


def limit_table(summaries: dict[Setting, Summary]) -> Iterator[str]:
    """The defaults with other limits, and with hits that decay."""
    yield "| `scan_limit` | hits stay | hits decay |"
    yield "| --- | --- | --- |"
    for limit in SCAN_LIMITS:
        row = (summaries[Setting(hits_decay=decay, scan_limit=limit)].text() for decay in (False, True))
        yield f"| {limit} | {' | '.join(row)} |"


def floor_table(cells: Sequence[Cell]) -> Iterator[str]:
    """Derived traces: the coarse ones by their blocks, all renewed ones together."""
    yield "| trace | capacities | " + " | ".join(f"{floor:,}" for floor in FLOORS) + " |"
    yield "| --- | --- |" + " --- |" * len(FLOORS)
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        case = cell.case
        if case.kind == "coarse":
            groups.setdefault(case.name, []).append(cell)
        elif case.kind == "renewed":
            groups.setdefault("the short traces, renewed", []).append(cell)
    for name, group in groups.items():
        gains = (
            f"{points(mean_gain(group, setting))} / {points(min(cell.gain(setting) for cell in group))}"
            for setting in FLOOR_SETTINGS
        )
        yield f"| {name} | {span(group)} | {' | '.join(gains)} |"


def trace_table(cells: Sequence[Cell]) -> Iterator[str]:
    """A row a trace."""
    yield "| trace | capacities | lru | slru | window | computecache | belady | worst | best |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for of_case in by_case(cells):
        lru, slru, window, belady = (fmean(cell.others[name] for cell in of_case) for name in OTHERS)
        ours = fmean(cell.settings[DEFAULT] for cell in of_case)
        rates = " | ".join(f"{rate:.2f}" for rate in (lru, slru, window, ours, belady))
        extremes = (extreme(of_case, key=lambda cell: cell.gain(DEFAULT)) for extreme in (min, max))
        ends = " | ".join(f"{points(cell.gain(DEFAULT))} at {cell.capacity_blocks:,}" for cell in extremes)
        yield f"| {of_case[0].case.name} | {span(of_case)} | {rates} | {ends} |"


def span(cells: Sequence[Cell]) -> str:
    """The capacities of cells with blocks of one size."""
    capacities = [cell.capacity_blocks for cell in cells]
    least, most = min(capacities), max(capacities)
    blocks = f"{least:,}" if least == most else f"{least:,}–{most:,}"
    return f"{blocks} × {cells[0].case.trace.block_size:,}"


def points(difference: float) -> str:
    """With its sign."""
    return f"{difference:+.2f}".replace("-", "−")
