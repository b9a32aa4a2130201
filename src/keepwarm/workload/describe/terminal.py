"""A description for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from keepwarm._console import facts, heading, to_text
from keepwarm._text import clip, count, counted, shorten, visible
from keepwarm.workload.describe.figures import Description, TraceFigures
from keepwarm.workload.describe.tables import (
    distributions_table,
    figures_table,
    tools_table,
    working_set_lines,
)

_MOST_SKIPPED = 3


def render_description(description: Description, *, width: int, colour: bool) -> str:
    """The whole report as text of ``width`` columns."""
    traces = named(description, max(12, min(22, width - 68)))
    parts: list[RenderableType] = [
        heading("keepwarm: what these sessions are like"),
        facts(_header(description, width)),
        Text(),
        heading("By request, gap and session"),
        distributions_table(traces, width),
        Text("prefill, decode, footprint, computed, KV: tokens; nearest rank", style="dim"),
        Text(),
        heading("In all"),
        figures_table(traces),
        *(Text(line, style="dim") for line in _remarks(traces)),
    ]
    lines = working_set_lines(traces, description.capacity_tokens, width)
    if lines:
        parts += [Text(), heading("Working set over time"), *lines]
    if description.tools is not None:
        parts += [Text(), heading("Tool times"), tools_table(description.tools, width)]
    return to_text(Group(*parts), width=width, colour=colour)


def named(description: Description, columns: int = 22) -> list[tuple[str, TraceFigures]]:
    """The traces by the names of their files, shortened to ``columns``."""
    traces = [description.trace] if description.beside is None else [description.trace, description.beside]
    names = [visible(Path(trace.input.path).name.split(".")[0] or "trace") for trace in traces]
    names = [shorten(name, columns) for name in names]
    if len(set(names)) < len(names):
        names = ["trace", "beside"]
    return list(zip(names, traces, strict=True))


def _header(description: Description, width: int) -> Iterator[tuple[str, str | Text]]:
    for role, trace in (("trace", description.trace), ("beside", description.beside)):
        if trace is None:
            continue
        info = trace.input
        yield role, Text(shorten(visible(info.path), width - 12), style="bold")
        sizes = f"{counted(trace.sessions, 'session')} · {counted(trace.requests, 'request')}"
        yield "", f"{visible(info.format)} · {sizes} · {trace.block_size}-token blocks"
        if info.skipped:
            skipped = counted(len(info.skipped), "request or line", "requests or lines")
            yield "left out", Text(skipped, style="yellow")
            for line in info.skipped[:_MOST_SKIPPED]:
                yield "", clip(visible(line), 2 * width)
            if len(info.skipped) > _MOST_SKIPPED:
                yield "", f"and {len(info.skipped) - _MOST_SKIPPED} more; --json lists all"
    if description.capacity_tokens is not None:
        yield "M", f"{count(description.capacity_tokens)} tokens of KV"
    if description.bytes_per_token is not None:
        yield "KV", f"{count(description.bytes_per_token)} bytes a token, all GPUs together"


def _remarks(traces: list[tuple[str, TraceFigures]]) -> Iterator[str]:
    yield "hit rates, computed, KV read and written: of a cache that loses nothing (simulated)"
    for name, trace in traces:
        if not trace.input.sessions_known:
            yield f"{name}: no sessions are named, so each request is one"
        if trace.triggers.gaps_with_answer:
            gaps = counted(trace.triggers.gaps_with_answer, "gap")
            yield f"{name}: {gaps} with the answer before in it, whose end is not recorded"
    clockless = [name for name, trace in traces if not trace.input.one_clock]
    if clockless:
        yield f"{', '.join(clockless)}: no absolute times, so all sessions are taken to start together"
