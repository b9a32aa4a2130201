"""The tables of a cache simulation, and the lines that say how to read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from keepwarm._text import count, counted, percent, share, visible
from keepwarm.cache.curve import Curve
from keepwarm.cache.sampling import SampledCurve
from keepwarm.cache.simulation import ReuseAfterEviction, Simulation, SimulationRow


class _Column(NamedTuple):
    """A figure of a row; a column is shown where some row has the figure."""

    title: str
    shown: Callable[[SimulationRow], str | Text]


def _columns(simulation: Simulation) -> list[_Column]:
    ceiling = simulation.ceiling.hit_tokens
    columns = [
        _Column("hit rate", lambda row: percent(row.hit_rate)),
        _Column("of ceiling", lambda row: share(row.hit_tokens, ceiling)),
        _Column("hit tokens", lambda row: count(row.hit_tokens)),
        _Column("evicted", lambda row: count(row.evicted_blocks)),
        _Column("asked again", _asked_again),
        _Column("KV GiB", lambda row: "" if row.kv_gib is None else f"{row.kv_gib:,.2f}"),
        _Column("recorded hits", _hit_residual),
        _Column("recorded evictions", _event_residual),
    ]
    return [column for column in columns if any(map(column.shown, simulation.rows))]


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


def rows_table(simulation: Simulation) -> Table:
    """Rows of one capacity side by side, so that policies can be compared."""
    columns = _columns(simulation)
    table = _empty_table("capacity")
    table.add_column("policy", no_wrap=True)
    for column in columns:
        table.add_column(column.title, justify="right", no_wrap=True)
    last = None
    for row in sorted(simulation.rows, key=lambda row: row.capacity_blocks):  # stable: policies as asked for
        capacity = count(row.capacity_blocks) if row.capacity_blocks != last else ""
        table.add_row(capacity, visible(row.policy), *(column.shown(row) for column in columns))
        last = row.capacity_blocks
    return table


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


def curve_table(curve: Curve) -> Table:
    """Hit rates, a column a policy."""
    table = _empty_table("capacity", *(policy.policy for policy in curve.policies))
    for points in zip(*(policy.points for policy in curve.policies), strict=True):
        table.add_row(count(points[0].capacity_blocks), *(percent(point.hit_rate) for point in points))
    return table


def sizes_table(curve: Curve, bytes_per_block: int | None) -> Table:
    """Blocks, and memory if known, that each policy needs for a share of what a boundless cache hits."""

    def size(blocks: int | None) -> str:
        if blocks is None:
            return "none tried"
        gib = "" if bytes_per_block is None else f" = {(blocks + 1) * bytes_per_block / 2**30:,.2f} GiB"
        return count(blocks) + gib

    table = _empty_table("of ceiling", *(policy.policy for policy in curve.policies))
    for sizes in zip(*(policy.sizes for policy in curve.policies), strict=True):
        needed = (size(found.capacity_blocks) for found in sizes)
        table.add_row(f"{sizes[0].percent_of_ceiling}%", *needed)
    return table


def sampled_table(curve: SampledCurve) -> Table:
    """Estimated hit rates with their 95% intervals."""
    table = _empty_table("capacity", "hit rate", "95% within")
    for point in curve.points:
        error = f"±{100 * point.error:.2f} points"
        table.add_row(count(point.capacity_blocks), percent(point.hit_rate), error)
    return table


def sample_remark(curve: SampledCurve) -> Text:
    """How much of the trace was followed."""
    blocks = f"{count(curve.followed_blocks)} of {counted(curve.distinct_blocks, 'distinct block')}"
    return Text(f"estimated by following {blocks}; the ceiling is exact", style="dim")


def _empty_table(*titles: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    return table
