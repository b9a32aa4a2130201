"""The tables of a cache simulation, and the lines that say how to read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from keepwarm._text import count, counted, percent, share, visible
from keepwarm.cache.curve import Curve
from keepwarm.cache.sampling import SampledCurve
from keepwarm.cache.simulation import ReuseAfterEviction, Simulation, SimulationRow
from keepwarm.cache.weights import GIB

_GAP = 2
# What a narrow terminal does without, the first first. Numbers are never cut.
_SPARED = (
    "hit tokens",
    "of ceiling",
    "KV GiB",
    "evicted",
    "recorded evictions",
    "recorded hits",
    "asked again",
)


class _Column(NamedTuple):
    """A figure of every row."""

    title: str
    cells: Sequence[str | Text]
    is_text: bool = False

    @property
    def width(self) -> int:
        """Terminal columns of its widest line; a title has a word a line."""
        return max(cell_len(str(line)) for line in (*self.title.split(), *self.cells))


def rows_table(simulation: Simulation, width: int) -> RenderableType:
    """Rows of one capacity side by side, so that policies can be compared; what fits ``width``."""
    rows = sorted(simulation.rows, key=lambda row: row.capacity_blocks)  # stable: policies as asked for
    capacities = [count(row.capacity_blocks) for row in rows]
    repeated = [False, *(a == b for a, b in pairwise(capacities))]
    columns = [
        _Column(
            "capacity", ["" if again else text for again, text in zip(repeated, capacities, strict=True)]
        ),
        _Column("policy", [visible(row.policy) for row in rows], is_text=True),
        *_figures(simulation, rows),
    ]
    spared = []
    for title in _SPARED:
        if _width(columns) > width and any(column.title == title for column in columns):
            columns = [column for column in columns if column.title != title]
            spared.append(title)
    if not spared:
        return _table(columns)
    return Group(_table(columns), Text(f"no room for: {', '.join(spared)}; --json has all", style="dim"))


def _figures(simulation: Simulation, rows: Sequence[SimulationRow]) -> list[_Column]:
    """Those that any of the rows has."""
    ceiling = simulation.ceiling.hit_tokens
    figures: dict[str, Callable[[SimulationRow], str | Text]] = {
        "hit rate": lambda row: percent(row.hit_rate),
        "of ceiling": lambda row: share(row.hit_tokens, ceiling),
        "hit tokens": lambda row: count(row.hit_tokens),
        "evicted": lambda row: count(row.evicted_blocks),
        "asked again": _asked_again,
        "KV GiB": lambda row: "" if row.kv_gib is None else f"{row.kv_gib:,.2f}",
        "recorded hits": _hit_residual,
        "recorded evictions": _event_residual,
    }
    columns = [_Column(title, [figure(row) for row in rows]) for title, figure in figures.items()]
    return [column for column in columns if any(column.cells)]


def _asked_again(row: SimulationRow) -> Text:
    blocks = row.evicted_then_requested_blocks
    return Text(count(blocks), style="red" if blocks else "dim")


def _hit_residual(row: SimulationRow) -> str:
    hits = row.recorded_hits
    if hits is None:
        return ""
    return f"{100 * hits.residual_tokens / max(1, hits.query_tokens):+.1f} points"


def _event_residual(row: SimulationRow) -> str:
    events = row.recorded_events
    return "" if events is None else f"{events.evicted_residual_blocks:+,}"


def remarks(simulation: Simulation) -> Iterator[str]:
    """What has to be known to read ``rows_table``."""
    yield "capacity: usable blocks, vLLM's number less 1; evicted, asked again: blocks"
    worst = max(simulation.rows, key=lambda row: row.evicted_then_requested_blocks)
    if worst.reuse_after_eviction is not None:
        yield _reuse_line(worst, worst.reuse_after_eviction)
    hits = simulation.rows[0].recorded_hits
    if hits is not None:
        doubt = "" if simulation.encoding.exact else "; tokens are approximate, so is this"
        yield (
            f"recorded hits: the server's {percent(hits.recorded_tokens / max(1, hits.query_tokens))} of "
            f"{counted(hits.requests, 'request')}, less those simulated{doubt}"
        )
    events = simulation.kv_events
    if events is not None:
        yield (
            f"recorded evictions: {counted(events.removed_blocks, 'block')} removed by the server, less "
            f"those simulated; it had {count(events.peak_resident_blocks)} cached at most"
        )
    cut = next((row for row in simulation.rows if row.cut_answers), None)
    if cut is not None:
        answers = counted(cut.cut_answers, "answer")
        yield f"{answers} outgrew {count(cut.capacity_blocks)} blocks and ended there"


def _reuse_line(row: SimulationRow, reuse: ReuseAfterEviction) -> str:
    return (
        f"evicted, then asked for again ({visible(row.policy)}, {count(row.capacity_blocks)} blocks): "
        f"half within {counted(reuse.p50_blocks, 'block')} handed out since, "
        f"90% within {count(reuse.p90_blocks)}, 99% within {count(reuse.p99_blocks)}"
    )


def curve_table(curve: Curve, width: int) -> RenderableType:
    """Hit rates, a column a policy; as many tables one below the other as ``width`` asks for."""
    capacities = [count(point.capacity_blocks) for point in curve.policies[0].points]
    rates = (
        _Column(policy.policy, [percent(point.hit_rate) for point in policy.points])
        for policy in curve.policies
    )
    return _stacked(_Column("capacity", capacities), list(rates), width)


def sizes_table(curve: Curve, bytes_per_block: int | None, width: int) -> RenderableType:
    """Blocks, and memory if known, that each policy needs for a share of what a boundless cache hits.

    As many tables one below the other as ``width`` asks for.
    """

    def size(blocks: int | None) -> str:
        if blocks is None:
            return "none tried"
        gib = "" if bytes_per_block is None else f" = {(blocks + 1) * bytes_per_block / GIB:,.2f} GiB"
        return count(blocks) + gib

    shares = [f"{size.percent_of_ceiling}%" for size in curve.policies[0].sizes]
    sizes = (
        _Column(policy.policy, [size(found.capacity_blocks) for found in policy.sizes])
        for policy in curve.policies
    )
    return _stacked(_Column("of ceiling", shares), list(sizes), width)


def sampled_table(curve: SampledCurve) -> Table:
    """Estimated hit rates with their 95% intervals."""
    return _table(
        [
            _Column("capacity", [count(point.capacity_blocks) for point in curve.points]),
            _Column("hit rate", [percent(point.hit_rate) for point in curve.points]),
            _Column("95% within", [f"±{100 * point.error:.2f} points" for point in curve.points]),
        ]
    )


def sample_remark(curve: SampledCurve) -> Text:
    """How much of the trace was followed."""
    blocks = f"{count(curve.followed_blocks)} of {counted(curve.distinct_blocks, 'distinct block')}"
    return Text(f"estimated by following {blocks}; the ceiling is exact", style="dim")


def _stacked(first: _Column, columns: Sequence[_Column], width: int) -> RenderableType:
    """Tables that begin with ``first`` and share out ``columns``, each within ``width`` if one column is."""
    tables: list[RenderableType] = []
    row = [first]
    for column in columns:
        if len(row) > 1 and _width([*row, column]) > width:
            tables += [_table(row), Text()]
            row = [first]
        row.append(column)
    return Group(*tables, _table(row))


def _table(columns: Sequence[_Column]) -> Table:
    """Titles above, figures below, however wide."""
    table = Table(
        box=None, padding=(0, _GAP, 0, 0), header_style="dim", pad_edge=False, width=_width(columns)
    )
    for column in columns:
        title = column.title.replace(" ", "\n")
        justify: JustifyMethod = "left" if column.is_text else "right"
        table.add_column(title, justify=justify, no_wrap=True, vertical="bottom")
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*cells)
    return table


def _width(columns: Sequence[_Column]) -> int:
    return sum(column.width + _GAP for column in columns) - _GAP
