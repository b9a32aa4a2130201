"""What each picture of a description shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from keepwarm._text import clip
from keepwarm.workload.describe.figures import Description, Distribution, TraceFigures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Traces = Sequence[tuple[str, TraceFigures]]
Figure = Callable[[TraceFigures], Distribution | None]

# Okabe and Ito, Color Universal Design, 2008. Dashes tell lines apart in grey.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1, 2)))
_GREY = "#666666"
_MOST_KINDS = 15
_KIND_CHARACTERS = 28


class Panel(NamedTuple):
    """One picture. ``has``: whether a description has anything to show in it."""

    title: str
    has: Callable[[Description], bool]
    draw: Callable[[Axes, Description, Traces], None]


def _of_each(title: str, label: str, figure: Figure) -> Panel:
    """The share of requests, gaps or sessions up to each value, a line a trace."""

    def has(description: Description) -> bool:
        return any(figure(trace) is not None for trace in _traces(description))

    def draw(axes: Axes, description: Description, traces: Traces) -> None:
        del description
        for place, (name, trace) in enumerate(traces):
            found = figure(trace)
            if found is not None:
                _draw_shares(axes, found, name, place)
        _finish(axes, label)

    return Panel(title, has, draw)


def _traces(description: Description) -> list[TraceFigures]:
    return [trace for trace in (description.trace, description.beside) if trace is not None]


def _draw_shares(axes: Axes, found: Distribution, name: str, place: int) -> None:
    values = [max(value, 0.1) for value in found.percentiles]  # 0 has no place on the axis
    style = {"color": _COLOURS[place % len(_COLOURS)], "linestyle": _DASHES[place % len(_DASHES)]}
    axes.plot(values, range(101), label=name, **style)


def _finish(axes: Axes, label: str) -> None:
    axes.set_xscale("log")
    axes.set_xlabel(label)
    axes.set_ylabel("% up to this")
    axes.set_ylim(0, 100)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.legend(frameon=False, loc="best")


def _gaps(trace: TraceFigures) -> dict[str, Distribution | None]:
    triggers = trace.triggers
    return {"tool": triggers.tool_gap_s, "human": triggers.human_gap_s, "unknown": triggers.unknown_gap_s}


def _draw_gaps(axes: Axes, description: Description, traces: Traces) -> None:
    del description
    place = 0
    for name, trace in traces:
        for what, found in _gaps(trace).items():
            if found is not None:
                _draw_shares(axes, found, f"{name}, {what}", place)
                place += 1
    _finish(axes, "seconds")


def _draw_working_set(axes: Axes, description: Description, traces: Traces) -> None:
    for place, (name, trace) in enumerate(traces):
        found = trace.working_set
        if found is None:
            continue
        hours = [point.time_s / 3600 for point in found.points]
        colour = _COLOURS[place % len(_COLOURS)]
        window = [point.window_tokens / 1e6 for point in found.points]
        axes.plot(hours, window, color=colour, label=f"{name}, last {found.window_s:g} s")
        if found.peak_live_tokens:
            live = [point.live_tokens / 1e6 for point in found.points]
            axes.plot(hours, live, color=colour, linestyle=_DASHES[2], label=f"{name}, going on")
    if description.capacity_tokens is not None:
        axes.axhline(description.capacity_tokens / 1e6, color="black", linewidth=1, label="M")
    axes.set_xlabel("hours since the start")
    axes.set_ylabel("million tokens")
    axes.set_ylim(bottom=0)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.legend(frameon=False, loc="best")


def _draw_tools(axes: Axes, description: Description, traces: Traces) -> None:
    """Median as a dot, a line to the 90th percentile; an arrow where that was cut off."""
    del traces
    tools = description.tools
    if tools is None:
        return
    rows = [row for row in (*tools.by_tool, *tools.by_kind) if row.tool][:_MOST_KINDS]
    for place, row in enumerate(rows):
        if row.p50_s is None:
            axes.plot([max(row.mean_s, 1e-3)], [place], ">", color=_COLOURS[1])
            continue
        start = max(row.p50_s, 1e-3)
        end = max(row.mean_s, start) if row.p90_s is None else max(row.p90_s, start)
        axes.plot([start, end], [place, place], color=_GREY)
        axes.plot([start], [place], "o", color=_COLOURS[0])
        if row.p90_s is None:
            axes.plot([end], [place], ">", color=_COLOURS[1])
    names = [clip(row.tool if row.kind is None else row.kind, _KIND_CHARACTERS) for row in rows]
    axes.set_yticks(range(len(rows)), names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("seconds: median, 90th percentile; > cut off")
    axes.grid(color="#dddddd", linewidth=0.6, axis="x")


PANELS = {
    "prefill": _of_each("Prefill of a request", "tokens", lambda trace: trace.prefill_tokens),
    "decode": _of_each("Decode of a request", "tokens", lambda trace: trace.decode_tokens),
    "computed": _of_each(
        "Prompt tokens that are new (simulated)", "tokens", lambda trace: trace.reuse.computed_tokens
    ),
    "requests": _of_each("Requests of a session", "requests", lambda trace: trace.requests_per_session),
    "gaps": Panel(
        "Time between an answer and the next request",
        lambda description: any(any(_gaps(trace).values()) for trace in _traces(description)),
        _draw_gaps,
    ),
    "sessions": _of_each("Length of a session", "seconds", lambda trace: trace.session_s),
    "working-set": Panel(
        "Working set over time",
        lambda description: any(trace.working_set is not None for trace in _traces(description)),
        _draw_working_set,
    ),
    "tools": Panel("Tool times", lambda description: description.tools is not None, _draw_tools),
}
"""By the name of the file each has in a folder."""
