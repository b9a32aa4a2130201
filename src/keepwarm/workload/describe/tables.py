"""The tables of a description."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keepwarm._text import clip, count, counted, percent, visible
from keepwarm.workload.describe.figures import Distribution, Tools, ToolTimes, TraceFigures

Traces = Sequence[tuple[str, TraceFigures]]

_SUMMARIES = ("mean", "p50", "p90", "p99", "max")
_SPARED = ("mean", "max")
_WIDE_COLUMNS = 84
_BARS = "▁▂▃▄▅▆▇█"
_MOST_KINDS = 20
_KIND_COLUMNS = 44  # what the other columns of the tool table take
_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def distributions_table(traces: Traces, width: int) -> RenderableType:
    """Quantiles, a line a trace, so that traces can be compared; a narrow terminal does without some."""
    spared = _SPARED if width < _WIDE_COLUMNS else ()
    columns = [title for title in _SUMMARIES if title not in spared]
    table = _table("", "trace", *columns, texts=2)
    figures: dict[str, Callable[[TraceFigures], Distribution | None]] = {
        "prefill": lambda trace: trace.prefill_tokens,
        "decode": lambda trace: trace.decode_tokens,
        "computed": lambda trace: trace.reuse.computed_tokens,
        "KV read": lambda trace: trace.transfer.read_tokens,
        "KV written": lambda trace: trace.transfer.written_tokens,
        "requests a session": lambda trace: trace.requests_per_session,
        "footprint": lambda trace: trace.footprint_tokens,
    }
    times: dict[str, Callable[[TraceFigures], Distribution | None]] = {
        "gap after a tool": lambda trace: trace.triggers.tool_gap_s,
        "gap after a human": lambda trace: trace.triggers.human_gap_s,
        "gap, unknown": lambda trace: trace.triggers.unknown_gap_s,
        "session length": lambda trace: trace.session_s,
    }
    shares: dict[str, Callable[[TraceFigures], Distribution | None]] = {
        "hit rate": lambda trace: trace.reuse.hit_share,
    }
    for shown, chosen in ((_number, figures), (percent, shares), (duration, times)):
        for title, figure in chosen.items():
            rows = [(name, found) for name, trace in traces if (found := figure(trace)) is not None]
            for place, (name, found) in enumerate(rows):
                values = (shown(getattr(found, column)) for column in columns)
                table.add_row("" if place else title, name, *values)
    if not spared:
        return table
    return Group(table, Text(f"no room for: {', '.join(spared)}; --json has all", style="dim"))


def figures_table(traces: Traces) -> Table:
    """Single figures, a column a trace; those that no trace has are left out."""
    table = _table("", *(name for name, _ in traces), texts=1)
    for title, figure in _FIGURES.items():
        cells = [figure(trace) for _, trace in traces]
        if any(cells):
            table.add_row(title, *cells)
    return table


def working_set_lines(traces: Traces, capacity_tokens: int | None, width: int) -> list[RenderableType]:
    """For each trace that covers time: figures, and tokens over time as bars."""
    lines: list[RenderableType] = []
    for name, trace in traces:
        found = trace.working_set
        if found is None:
            continue
        window = _against(found.mean_tokens, found.peak_tokens, found.above_capacity)
        lines += [
            Text(f"{name}, over {duration(found.length_s)}"),
            Text(f"asked for in the last {duration(found.window_s)}: {window}"),
            Text(_bars([point.window_tokens for point in found.points], width), style="cyan"),
        ]
        if found.peak_live_tokens:
            live = _against(found.mean_live_tokens, found.peak_live_tokens, found.live_above_capacity)
            lines += [
                Text(f"held by sessions that go on, {count(found.peak_live_sessions)} at most: {live}"),
                Text(_bars([point.live_tokens for point in found.points], width), style="cyan"),
            ]
    if lines and capacity_tokens is None:
        lines.append(Text("--capacity-tokens M sets it against a server's memory", style="dim"))
    return lines


def tools_table(tools: Tools, width: int) -> RenderableType:
    """Times by tool, then by kind; ``>`` where a quantile falls on a call that was cut off."""
    table = _table("tool", tools.kinds[:-1], "calls", "cut off", "p50", "p90", "p99", texts=2)
    for row in (*tools.by_tool, *tools.by_kind[:_MOST_KINDS]):
        named = row.tool if row.kind is None else ""
        kind = "" if row.kind is None else clip(visible(row.kind), max(12, width - _KIND_COLUMNS))
        if not row.tool:
            kind = f"(kinds of fewer than {tools.min_calls} calls)"
        table.add_row(clip(visible(named), 20), kind, count(row.calls), count(row.cut_off), *_quantiles(row))
    more = len(tools.by_kind) - _MOST_KINDS
    rest = f"; and {more} more kinds; --json lists all" if more > 0 else ""
    source = "the trace" if tools.source is None else visible(tools.source)
    return Group(table, Text(f"{counted(tools.calls, 'call')} of {source}{rest}", style="dim"))


def _quantiles(row: ToolTimes) -> Iterator[str]:
    for seconds in (row.p50_s, row.p90_s, row.p99_s):
        yield "cut off" if seconds is None else duration(seconds)


def duration(seconds: float) -> str:
    """``0.036 s``, ``12.5 s``, ``36 min``, ``18.7 h``."""
    if seconds < 1:
        return f"{seconds:.3f} s"
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:,.1f}"


def _if_any(number: int) -> str:
    return count(number) if number else ""


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"


def _volume(tokens: Distribution, size: int | None) -> str:
    if size is None:
        return f"{tokens.total:,.0f} tokens"
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size:,} B"


def _against(mean: float, peak: int, above: float | None) -> str:
    said = f"{mean:,.0f} tokens on average, {peak:,} at most"
    return said if above is None else f"{said}, more than M for {percent(above)} of the time"


def _bars(values: Sequence[int], columns: int) -> str:
    """The largest of each stretch as a bar, relative to the largest of all."""
    highest = max(1, *values)
    stretches = min(columns, len(values))
    edges = [place * len(values) // stretches for place in range(stretches + 1)]
    tops = (max(values[low:high]) for low, high in pairwise(edges))
    return "".join(_BARS[min(len(_BARS) - 1, top * len(_BARS) // (highest + 1))] for top in tops)


def _table(*titles: str, texts: int) -> Table:
    """The first ``texts`` columns are words, which are wrapped where it is narrow; the others are figures."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for place, title in enumerate(titles):
        is_text = place < texts
        table.add_column(title, justify="left" if is_text else "right", no_wrap=not is_text, overflow="fold")
    return table


_FIGURES: Mapping[str, Callable[[TraceFigures], str]] = {
    "prefill tokens": lambda trace: _number(trace.prefill_tokens.total),
    "decode tokens": lambda trace: _number(trace.decode_tokens.total),
    "prefill : decode": lambda trace: f"{trace.prefill_per_decode:,.1f}",
    "requests after a tool": lambda trace: count(trace.triggers.tool_requests),
    "requests after a human": lambda trace: count(trace.triggers.human_requests),
    "requests, unknown": lambda trace: _if_any(trace.triggers.unknown_requests),
    "tool : human": lambda trace: _ratio(trace.triggers.tool_per_human),
    "hit rate": lambda trace: percent(trace.reuse.hit_rate),
    "KV read": lambda trace: _volume(trace.transfer.read_tokens, trace.transfer.read_bytes),
    "KV written": lambda trace: _volume(trace.transfer.written_tokens, trace.transfer.written_bytes),
    "sessions that fit M": lambda trace: (
        "" if trace.sessions_that_fit is None else count(trace.sessions_that_fit)
    ),
}
