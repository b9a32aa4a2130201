"""Simulated runs for the terminal: one table, and what has to be known to read it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keepwarm._console import facts, heading, to_text
from keepwarm._text import clip, count, counted, percent, shorten, visible
from keepwarm.serving.report.base import Server, ServingReport
from keepwarm.serving.row import Row

_MOST_SKIPPED = 3
_SECONDS = ("total", "p50", "p99", "max", "TTFT", "wait")


def render_report(report: ServingReport, *, width: int, colour: bool) -> str:
    """The whole report as text of ``width`` columns."""
    parts: list[RenderableType] = [
        heading("keepwarm: agent sessions on a modelled server (simulated)"),
        facts(header(report, width)),
        Text(),
        heading("By order, eviction, sessions and seed (simulated; times in seconds)"),
        _table(report),
        Text(
            "total: mean over sessions of their summed request latencies, tools excluded; TTFT p50; wait p99",
            style="dim",
        ),
        Text("tokens/s: prompt and answer tokens less recomputed ones; evicted: hashes removed", style="dim"),
    ]
    return to_text(Group(*parts), width=width, colour=colour)


def header(report: ServingReport, width: int) -> Iterator[tuple[str, str | Text]]:
    """What was simulated on what, as lines of facts of ``width`` columns."""
    given, server = report.input, report.server
    yield "trace", Text(shorten(visible(given.path), width - 12), style="bold")
    yield "", f"{counted(given.sessions, 'session')}, {counted(given.requests, 'request')}"
    if given.skipped:
        yield "skipped", Text(counted(len(given.skipped), "request"), style="yellow")
        for line in given.skipped[:_MOST_SKIPPED]:
            yield "", clip(visible(line), 2 * width)
    yield "server", f"{visible(server.profile)}, costs by {server.costs}"
    yield "", _limits(server)
    if server.host_memory_gib:
        yield "", f"{server.host_memory_gib:g} GiB of host memory behind the cache"
    yield "load", _load(report)


def _limits(server: Server) -> str:
    blocks = f"{count(server.capacity_blocks)} blocks of {server.block_size} tokens"
    at_once = f"at most {counted(server.max_running_requests, 'request')} at once"
    return f"{blocks}, {count(server.step_tokens)} tokens a step, {at_once}"


def _load(report: ServingReport) -> str:
    conditions = report.conditions
    gaps = "recorded gaps" if conditions.gap_scale == 1 else f"gaps x {conditions.gap_scale:g}"
    if conditions.population == "together":
        return f"all sessions start together, {gaps}"
    return f"a session that ends is replaced; measured are the first to replace others; {gaps}"


def _table(report: ServingReport) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for name in ("order", "eviction"):
        table.add_column(name, no_wrap=True)
    for name in ("N", "seed", *_SECONDS, "tokens/s", "evicted", "hits"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in report.rows:
        table.add_row(*_cells(row))
    return table


def _cells(row: Row) -> Iterator[str]:
    yield row.scheduling
    yield row.eviction
    yield str(row.sessions)
    yield str(row.seed)
    latency = row.request_latency_s
    for seconds in (
        row.session_completion_s,
        latency.p50,
        latency.p99,
        latency.max,
        row.ttft_s.p50,
        row.queue_wait_s.p99,
    ):
        yield f"{seconds:,.1f}"
    yield count(round(row.token_goodput))
    yield count(row.evicted_blocks)
    yield percent(row.hit_rate)
