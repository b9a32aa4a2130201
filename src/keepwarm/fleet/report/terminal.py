"""Simulated fleets for the terminal: how they do, how evenly, and what has to be known to read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keepwarm._console import facts, heading, to_text
from keepwarm._text import count, percent
from keepwarm.fleet.report.base import FleetReport
from keepwarm.fleet.row import FleetRow
from keepwarm.serving.report.base import ServingReport
from keepwarm.serving.report.terminal import header


class _Column(NamedTuple):
    title: str
    cell: Callable[[FleetRow], str]


_SETTINGS = (
    _Column("order", lambda row: row.scheduling),
    _Column("eviction", lambda row: row.eviction),
    _Column("N", lambda row: str(row.sessions_per_replica)),
    _Column("seed", lambda row: str(row.seed)),
)
_FIGURES = (
    _Column("total", lambda row: _seconds(row.overall.session_completion_s)),
    _Column("p50", lambda row: _seconds(row.overall.request_latency_s.p50)),
    _Column("p99", lambda row: _seconds(row.overall.request_latency_s.p99)),
    _Column("max", lambda row: _seconds(row.overall.request_latency_s.max)),
    _Column("TTFT", lambda row: _seconds(row.overall.ttft_s.p50)),
    _Column("evicted", lambda row: count(row.overall.evicted_blocks)),
    _Column("hits", lambda row: percent(row.overall.hit_rate)),
    _Column("gain", lambda row: _factor(row.gain)),
    _Column("kept", lambda row: "" if row.gain_kept is None else percent(row.gain_kept)),
)
_BALANCE = (
    _Column("max tokens", lambda row: count(round(row.served_tokens.max))),
    _Column("cv", lambda row: f"{row.served_tokens.cv:.2f}"),
    _Column("max wait", lambda row: _seconds(row.queue_wait_s.max)),
    _Column("cv", lambda row: f"{row.queue_wait_s.cv:.2f}"),
    _Column("hot", lambda row: percent(row.hot_spot_share)),
    _Column("moved", lambda row: count(row.moved_sessions)),
    _Column("moves", lambda row: count(row.moves)),
)


def render_report(report: FleetReport, *, width: int, colour: bool) -> str:
    """The whole report as text of ``width`` columns."""
    vary = [column for column in _SETTINGS if len(set(map(column.cell, report.rows))) > 1]
    parts: list[RenderableType] = [
        heading("keepwarm: agent sessions on a modelled fleet (simulated)"),
        facts(_facts(report, width)),
        Text(),
        heading("By balancer and replicas (simulated; times in seconds)"),
        _table(report.rows, vary, _FIGURES),
        _note("total: mean over sessions of their summed request latencies, tools excluded; TTFT p50"),
        _note("gain: total of fcfs and lru over this one; kept: gain as a share of that at one replica"),
        Text(),
        heading("How evenly (simulated)"),
        _table(report.rows, vary, _BALANCE),
        _note("max tokens served by one replica, largest mean wait of one, each with its cv over replicas"),
        _note("hot: share of time with one replica above twice the mean load"),
        _note("moved: sessions that changed replica; moves: how often"),
    ]
    return to_text(Group(*parts), width=width, colour=colour)


def _facts(report: FleetReport, width: int) -> Iterator[tuple[str, str | Text]]:
    servers = ServingReport(input=report.input, server=report.server, conditions=report.conditions, rows=())
    yield from header(servers, width)
    same = [column for column in _SETTINGS if len(set(map(column.cell, report.rows))) == 1]
    if same:
        yield "all rows", ", ".join(f"{column.title} {column.cell(report.rows[0])}" for column in same)
    yield "", f"N is per replica; prefix-bounded goes up to {report.load_bound:g} times the mean load"


def _table(rows: Sequence[FleetRow], vary: Sequence[_Column], columns: Sequence[_Column]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("balancer", no_wrap=True)
    table.add_column("R", justify="right", no_wrap=True)
    shown = [*vary, *columns]
    for column in shown:
        named = column.title in ("order", "eviction")
        table.add_column(column.title, justify="left" if named else "right", no_wrap=True)
    for row in rows:
        table.add_row(row.balancer, str(row.replicas), *(column.cell(row) for column in shown))
    return table


def _note(words: str) -> Text:
    return Text(words, style="dim")


def _seconds(value: float) -> str:
    return f"{value:,.1f}"


def _factor(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
