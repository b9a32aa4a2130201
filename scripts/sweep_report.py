"""What the sweep of ComputeCache's parameters comes to: a criterion for the defaults, and its tables.

The defaults are the setting that, of those that keep the hot prefix through floods of up to
``KEPT_FLOOD_PROMPTS`` at the smallest capacity and are nowhere more than ``MOST_LOST_POINTS`` below LRU on a
recorded trace, gains most over LRU: the mean over traces of the mean over capacities, to a hundredth of a
point; of equals the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from keepwarm.cache.dense import DenseTrace
from keepwarm.policies.computecache import PROTECTED_SHARE, SCAN_LIMIT, STALE_TURNOVERS

SHARES = (0.1, 0.25, 0.4, 0.5, 0.75, 1.0)
TURNOVERS = (1.0, 4.0, 16.0, 64.0, 256.0)
SCAN_LIMITS = (1, 4, 16, 64)
MOST_LOST_POINTS = 2.0
KEPT_FLOOD_PROMPTS = 40  # 16 turnovers of 127 blocks
OTHERS = ("lru", "slru", "computecache-window", "belady")


class Setting(NamedTuple):
    """Parameters of ``computecache``, by their names."""

    protected_share: float = PROTECTED_SHARE
    stale_turnovers: float = STALE_TURNOVERS
    hits_decay: bool = False
    scan_limit: int = SCAN_LIMIT


DEFAULT = Setting()
GRID = tuple(itertools.starmap(Setting, itertools.product(SHARES, TURNOVERS, (False, True))))
LIMITS = tuple(
    Setting(hits_decay=decay, scan_limit=limit) for limit in SCAN_LIMITS for decay in (False, True)
)
SETTINGS = tuple(dict.fromkeys(GRID + LIMITS))


class Case(NamedTuple):
    """A trace and the capacities, in blocks, at which it is replayed; in floods so many one-use prompts."""

    name: str
    trace: DenseTrace
    capacities_blocks: tuple[int, ...]
    flood_prompts: int = 0


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
    keeps_hot: bool  # the hot prefix, through floods that must not flush it

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
    summaries = {setting: summarise(cells, setting) for setting in SETTINGS}
    chosen = choose(summaries)
    decay = max(
        abs(cell.settings[setting] - cell.settings[setting._replace(hits_decay=True)])
        for cell in cells
        for setting in GRID
    )
    grid = (
        "Points over LRU: mean of the recorded traces / their worst cell / mean of the floods. Bold: keeps "
        f"the hot prefix through floods of up to {KEPT_FLOOD_PROMPTS} prompts at 127 blocks."
    )
    limits = (
        f"The criterion chooses a share of {chosen.protected_share:g}, {chosen.stale_turnovers:g} turnovers, "
        f"hits that {'decay' if chosen.hits_decay else 'stay'}. Decay moves no cell of the grid by more than "
        f"{decay:.2f} points. By `scan_limit`, the rest as chosen:"
    )
    traces = (
        "Hit rates in percent with the defaults, each the mean over the capacities (blocks × tokens), and "
        "the cells where `computecache` is furthest below and above LRU:"
    )
    parts = [grid, grid_table(summaries), limits, limit_table(summaries), traces, trace_table(cells)]
    text = "\n\n".join(part if isinstance(part, str) else "\n".join(part) for part in parts)
    return Report(text, chosen == DEFAULT)


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
    recorded = [cell for cell in cells if not cell.case.flood_prompts]
    floods = [cell for cell in cells if cell.case.flood_prompts]
    smallest = min(cell.capacity_blocks for cell in floods)
    return Summary(
        mean_gain(recorded, setting),
        min(cell.gain(setting) for cell in recorded),
        mean_gain(floods, setting),
        all(
            cell.settings[setting] == cell.others["belady"]
            for cell in floods
            if cell.capacity_blocks == smallest and cell.case.flood_prompts <= KEPT_FLOOD_PROMPTS
        ),
    )


def mean_gain(cells: Sequence[Cell], setting: Setting) -> float:
    """The mean over traces of the mean over capacities."""
    return fmean(fmean(cell.gain(setting) for cell in of_case) for of_case in by_case(cells))


def by_case(cells: Sequence[Cell]) -> list[list[Cell]]:
    """The cells of each trace, in order."""
    return [list(group) for _, group in itertools.groupby(cells, key=lambda cell: cell.case.name)]


def grid_table(summaries: dict[Setting, Summary]) -> Iterator[str]:
    """Shares by turnovers, with hits that stay."""
    yield "| share, by turnovers | " + " | ".join(f"{stale:g}" for stale in TURNOVERS) + " |"
    yield "| --- |" + " --- |" * len(TURNOVERS)
    for share in SHARES:
        row = (summaries[Setting(share, stale)].text() for stale in TURNOVERS)
        yield f"| {share:g} | {' | '.join(row)} |"


def limit_table(summaries: dict[Setting, Summary]) -> Iterator[str]:
    """The defaults with other limits, and with hits that decay."""
    yield "| `scan_limit` | hits stay | hits decay |"
    yield "| --- | --- | --- |"
    for limit in SCAN_LIMITS:
        row = (summaries[Setting(hits_decay=decay, scan_limit=limit)].text() for decay in (False, True))
        yield f"| {limit} | {' | '.join(row)} |"


def trace_table(cells: Sequence[Cell]) -> Iterator[str]:
    """A row a trace."""
    yield "| trace | capacities | lru | slru | window | computecache | belady | worst | best |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for of_case in by_case(cells):
        case = of_case[0].case
        lru, slru, window, belady = (fmean(cell.others[name] for cell in of_case) for name in OTHERS)
        ours = fmean(cell.settings[DEFAULT] for cell in of_case)
        rates = " | ".join(f"{rate:.2f}" for rate in (lru, slru, window, ours, belady))
        extremes = (extreme(of_case, key=lambda cell: cell.gain(DEFAULT)) for extreme in (min, max))
        ends = " | ".join(f"{points(cell.gain(DEFAULT))} at {cell.capacity_blocks:,}" for cell in extremes)
        span = f"{case.capacities_blocks[0]:,}–{case.capacities_blocks[-1]:,} × {case.trace.block_size}"
        yield f"| {case.name} | {span} | {rates} | {ends} |"


def points(difference: float) -> str:
    """With its sign."""
    return f"{difference:+.2f}".replace("-", "−")
