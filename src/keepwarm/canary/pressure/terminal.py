"""A pressure run for the terminal: what is left of the hot prefix after each batch."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keepwarm._console import facts, heading, to_text
from keepwarm._text import count, counted, share, visible
from keepwarm.canary.pressure.report import PressureReport, PressureStep, Ttft

_NONE = "–"


def render_pressure(report: PressureReport, *, width: int, colour: bool) -> str:
    """The whole report as text of ``width`` columns. Every figure in it was measured."""
    parts: list[RenderableType] = [
        heading("keepwarm: a hot prefix under pressure (measured)"),
        facts(_header(report)),
        Text(),
        _verdict(report),
        Text(),
        heading("After each batch of one-use requests"),
        _table(report),
    ]
    return to_text(Group(*parts), width=width, colour=colour)


def _header(report: PressureReport) -> Iterator[tuple[str, str | Text]]:
    yield "model", Text(visible(report.model), style="bold")
    yield "mode", visible(report.mode)
    yield "cache", f"{counted(report.capacity_blocks, 'usable block')} of {report.block_size} tokens"
    yield "hot prefix", counted(report.hot_prefix_tokens, "token")
    flood_hits = sum(step.flood_cached_tokens for step in report.steps)
    length = counted(report.flood_prompt_tokens, "token")
    yield (
        "flood",
        f"one-use prompts of {length} (seed {report.seed}), {count(flood_hits)} tokens of them cached",
    )
    yield "hot TTFT", _hot_ttft(report.ttft)
    if report.cold_prefix_cached_tokens:
        hits = counted(report.cold_prefix_cached_tokens, "token")
        yield "note", f"The first hot request hit {hits} that were there before the run."
    if not report.cache_reset:
        yield "note", "The server does not let its cache be reset: it may have held other prompts."
    for failure in report.failures:
        yield "failed", Text(f"{counted(failure.requests, 'request')}: {failure.reason}", style="yellow")
    for sentence in report.inconsistencies:
        yield "contradiction", Text(visible(sentence), style="yellow")


def _hot_ttft(ttft: Ttft) -> str:
    after = f"{_seconds(ttft.median_s)} after a batch (median), {_seconds(ttft.post_flood_s)} after the last"
    return f"{_seconds(ttft.cold_s)} cold, {_seconds(ttft.warm_s)} warm, {after}"


def _verdict(report: PressureReport) -> Text:
    if not report.consistent:
        return Text("Inconsistent: figures contradict each other, so none of them decides.", style="bold red")
    requests = counted(report.flood_requests, "one-use request")
    if report.hot_prefix_preserved:
        return Text(f"Preserved: the hot prefix stayed cached through {requests}.", style="bold green")
    if report.failed_requests:
        return Text(f"Not shown: {counted(report.failed_requests, 'request')} failed.", style="bold red")
    least = min(step.cached_tokens or 0 for step in report.steps)
    return Text(
        f"Lost: of {count(report.warm_prefix_cached_tokens)} cached tokens {count(least)} were left "
        f"at the worst step of {requests}.",
        style="bold red",
    )


def _table(report: PressureReport) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("one-use\nrequests", "cached\ntokens", "of\nwarm", "by\ncounter", "TTFT", "failed"):
        table.add_column(title, justify="right", no_wrap=True)
    for step in report.steps:
        table.add_row(*_cells(report, step))
    return table


def _cells(report: PressureReport, step: PressureStep) -> Iterator[str]:
    yield count(step.flood_requests)
    if step.cached_tokens is None:
        yield from (_NONE, _NONE, _NONE, _NONE)
    else:
        assert step.counter_cached_tokens is not None
        yield count(step.cached_tokens)
        yield share(step.cached_tokens, report.warm_prefix_cached_tokens)
        yield count(step.counter_cached_tokens)
        yield _seconds(step.ttft_s)
    yield count(step.failed_requests)


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return _NONE
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:,.0f} ms"
