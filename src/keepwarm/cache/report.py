"""A cache simulation for the terminal: one table, and what has to be known to read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keepwarm._console import facts, heading, to_text
from keepwarm._text import clip, count, counted, percent, share, shorten, visible
from keepwarm.cache.simulation import CacheInfo, ReuseAfterEviction, Simulation, SimulationRow

_MOST_SKIPPED = 3


def render_simulation(simulation: Simulation, *, width: int, colour: bool) -> str:
    """The whole report as text of ``width`` columns."""
    parts: list[RenderableType] = [
        heading("keepwarm: what caches of these sizes would hit (simulated)"),
        facts(_header(simulation, width)),
        Text(),
        Text(_verdict(simulation), style="bold"),
        Text(),
        heading("By capacity and policy (simulated)"),
        _table(simulation),
        *(Text(line, style="dim") for line in _remarks(simulation)),
    ]
    return to_text(Group(*parts), width=width, colour=colour)


def _header(simulation: Simulation, width: int) -> Iterator[tuple[str, str | Text]]:
    info = simulation.input
    yield "trace", Text(shorten(visible(info.path), width - 12), style="bold")
    yield "", f"{visible(info.format)} · {counted(info.requests, 'request')}"
    if info.skipped:
        yield "skipped", Text(f"{counted(len(info.skipped), 'line')} skipped", style="yellow")
        for line in info.skipped[:_MOST_SKIPPED]:
            yield "", f"line {line.line}: {clip(visible(line.reason), 2 * width)}"
        if len(info.skipped) > _MOST_SKIPPED:
            yield "", f"and {len(info.skipped) - _MOST_SKIPPED} more; --json lists all"
    yield "tokens", _tokens(simulation)
    yield "cache", _cache(simulation.cache)
    if simulation.server is not None:
        yield "server", visible(simulation.server.summary)
    yield "replay", f"one request after another in {_order(simulation)}, each freed before the next"
    for caveat in _caveats(simulation):
        yield "note", caveat


def _tokens(simulation: Simulation) -> str:
    encoding = simulation.encoding
    if not simulation.input.prompt_texts_known:
        return visible(encoding.note)
    names = f"{visible(encoding.tokenizer)} · chat template {visible(encoding.chat_template)}"
    return f"{names} · {visible(encoding.note)}"


def _cache(cache: CacheInfo) -> str:
    parts = [f"{cache.block_size}-token blocks"]
    if cache.match_unit_tokens != cache.block_size:
        parts.append(f"hits are multiples of {cache.match_unit_tokens} tokens")
    parts.append("output left out" if cache.ignore_output else "output takes space")
    return ", ".join([*parts, f"{counted(cache.distinct_blocks, 'distinct block')} in the trace"])


def _order(simulation: Simulation) -> str:
    if simulation.input.time_merged:
        return "order of time since the start of its session"
    return "recorded order"


def _caveats(simulation: Simulation) -> Iterator[str]:
    info = simulation.input
    if info.prompt_texts_known and not info.prompt_complete:
        yield "The file leaves out a part of each prompt (system text or tools): real prompts are longer."
    if info.models > 1:
        yield f"Requests of {info.models} models share the capacity here; a server has it for one."


def _verdict(simulation: Simulation) -> str:
    ceiling = simulation.ceiling
    return (
        f"A cache that loses nothing would hit {percent(ceiling.hit_rate)}: {count(ceiling.hit_tokens)} of "
        f"{counted(ceiling.query_tokens, 'prompt token')} (simulated). No policy and no size exceeds it."
    )


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


def _table(simulation: Simulation) -> Table:
    """Rows of one capacity side by side, so that policies can be compared."""
    columns = _columns(simulation)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("capacity", justify="right", no_wrap=True)
    table.add_column("policy", no_wrap=True)
    for column in columns:
        table.add_column(column.title, justify="right", no_wrap=True)
    last = None
    for row in sorted(simulation.rows, key=lambda row: row.capacity_blocks):  # stable: policies as asked for
        capacity = count(row.capacity_blocks) if row.capacity_blocks != last else ""
        table.add_row(capacity, visible(row.policy), *(column.shown(row) for column in columns))
        last = row.capacity_blocks
    return table


def _remarks(simulation: Simulation) -> Iterator[str]:
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
        f"half within {count(reuse.p50_blocks)} blocks handed out since, "
        f"90% within {count(reuse.p90_blocks)}, 99% within {count(reuse.p99_blocks)}"
    )
