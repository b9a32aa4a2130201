"""The report for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keepwarm._console import facts, heading, to_text
from keepwarm._text import clip, count, counted, shorten, visible
from keepwarm.reuse.report.document import InputInfo, ModelInfo, Report
from keepwarm.reuse.report.held_out import Interval, Row

_COLUMNS: tuple[tuple[str, Callable[[Row], Interval], float, int], ...] = (
    ("order % any", lambda row: row.order_any, 100.0, 0),
    ("order % start", lambda row: row.order_start, 100.0, 0),
    ("order % found", lambda row: row.order_found, 100.0, 0),
    ("regret s start", lambda row: row.regret_start_s, 1.0, 1),
    ("regret s found", lambda row: row.regret_found_s, 1.0, 1),
)
_FIGURES_WIDTH = 36  # of the figures of a curve
_READING = (
    "order: share of pairs in the right order; of all pairs, and of those that end more than 1 s apart",
    "regret: how much later the session that the oracle evicts comes back, as far as the record tells",
    "start: as calls start; found: as an eviction finds them, long ones more often",
)


def render_report(report: Report, *, width: int, colour: bool) -> str:
    """The whole report as text of ``width`` columns."""
    parts: list[RenderableType] = [heading("keepwarm: when an idle session comes back")]
    parts.append(facts(_facts(report, width)))
    if report.rows:
        title = (
            "The model on these calls"
            if report.model is not None
            else f"On tasks that were held out, mean of {report.settings['splits']} splits (middle 95%)"
        )
        parts += [Text(), heading(title), _rows(report.rows, report.model is not None)]
        parts += [Text(line, style="dim") for line in _READING]
    if report.model is not None:
        parts += [Text(), heading("Curves of the model"), _curves(report.model, width)]
    return to_text(Group(*parts), width=width, colour=colour)


def _facts(report: Report, width: int) -> Iterator[tuple[str, str]]:
    if report.input is not None:
        yield from _input_facts(report.input, width)
    if report.model is not None:
        fitted = report.model.fitted
        yield "model", f"{counted(fitted['samples'], 'call')}, {count(fitted['censored'])} cut off"
        yield "", f"seed {fitted['seed']}, at most {fitted['clusters']} clusters a tool"


def _input_facts(info: InputInfo, width: int) -> Iterator[tuple[str, str]]:
    calls, tasks = counted(info.calls, "call"), counted(info.tasks, "task")
    yield "calls", f"{calls} of {tasks}, {count(info.cut_off)} cut off"
    for name in info.files:
        yield "file", shorten(visible(name), width - 12)
    for note in info.notes:
        yield "note", visible(note)


def _rows(rows: tuple[Row, ...], one_split: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column("step", no_wrap=True)
    table.add_column("clusters", justify="right")
    for title, *_ in _COLUMNS:
        table.add_column(title, justify="right", max_width=14)
    for row in rows:
        figures = [_interval(figure(row), scale, digits, one_split) for _, figure, scale, digits in _COLUMNS]
        table.add_row(row.step, "" if row.clusters is None else f"{row.clusters:.0f}", *figures)
    return table


def _interval(interval: Interval, scale: float, digits: int, one_split: bool) -> str:
    mean, low, high = (
        f"{scale * value:.{digits}f}" for value in (interval.mean, interval.low, interval.high)
    )
    return mean if one_split or interval.low == interval.high else f"{mean} {low}–{high}"


def _curves(model: ModelInfo, width: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column("tool", no_wrap=True)
    for title in ("calls", "mean s", "known to s"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("arguments", no_wrap=True)
    for step in model.steps:
        name = "all" if step.tool is None else shorten(visible(step.tool), width // 4)
        mean = "unknown" if step.mean_s is None else f"{step.mean_s:.2f}"
        terms = clip(", ".join(visible(term) for term in step.terms), width - len(name) - _FIGURES_WIDTH)
        table.add_row(name, count(step.calls), mean, f"{step.known_to_s:.2f}", terms)
    return table
