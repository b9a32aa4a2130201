"""One look at the servers, for a terminal."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keepwarm._console import facts, heading, to_text
from keepwarm._text import counted, percent, visible
from keepwarm.watch.servers import ServerNow, Watched

_UNKNOWN = "-"
MOST_SHOWN = 50  # servers, and alert conditions; --json has all


def render_watched(watched: Watched, *, width: int, colour: bool) -> str:
    """Servers, conditions that hold, and what cannot be known. Everything in it is measured."""
    at = datetime.fromtimestamp(watched.at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    parts: list[RenderableType] = [
        facts(
            [
                ("prometheus", visible(watched.prometheus)),
                ("at", f"{at}, rates over {watched.window}, all measured by the servers"),
            ]
        )
    ]
    for server in watched.servers[:MOST_SHOWN]:
        parts += [Text(), heading(_name(server)), facts(_rows(server))]
    parts += _more(len(watched.servers), "server")
    parts += [Text(), heading(f"{counted(len(watched.held), 'alert condition')} now")]
    parts.append(_held(watched) if watched.held else Text("none holds"))
    parts += _more(len(watched.held), "condition")
    parts += [Text(), *(Text(f"not known: {line}", style="dim") for line in watched.missing)]
    return to_text(Group(*parts), width=width, colour=colour)


def _more(count: int, noun: str) -> list[Text]:
    hidden = count - MOST_SHOWN
    return (
        [Text(f"and {counted(hidden, f'more {noun}')}; --once --json has all", style="dim")]
        if hidden > 0
        else []
    )


def _name(server: ServerNow) -> str:
    role = f", {server.role}" if server.role else ""
    return visible(f"{server.instance or 'no instance'}{role} ({server.job or 'no job'})")


def _rows(server: ServerNow) -> list[tuple[str, str | Text]]:
    again = _rate(server.evicted_then_requested_tokens_per_s)
    share = _percent(server.evicted_then_requested_share)
    rows: list[tuple[str, str | Text]] = [
        ("hit rate", f"{_percent(server.hit_rate)} of {_rate(server.prompt_tokens_per_s)} prompt tokens"),
        ("evicted, then requested", f"{again}, {share} of the prompt tokens"),
        ("KV cache in use", _percent(server.kv_usage)),
        ("requests", f"{_number(server.running)} running, {_number(server.waiting)} waiting"),
        ("mode", visible(", ".join(server.modes)) or "no plugin that says one"),
        ("tripped", f"{_number(server.tripped)} engines, {_number(server.faults)} faults so far"),
    ]
    if server.scheduling or server.paused_sessions is not None:
        order = visible(", ".join(server.scheduling)) or _UNKNOWN
        rows.append(("queue order", f"{order}, {_number(server.paused_sessions)} sessions paused"))
    return rows + _reuse_rows(server)


def _reuse_rows(server: ServerNow) -> list[tuple[str, str | Text]]:
    """Of predicted and real time to reuse, what is known."""
    rows: list[tuple[str, str | Text]] = []
    if server.reuse_late_share is not None:
        predicted, real = _seconds(server.predicted_reuse_p50_s), _seconds(server.real_reuse_p50_s)
        medians = (
            f"predicted {predicted}, real {real}, real by predicted {_ratio(server.reuse_ratio_p50)}: medians"
        )
        early, late = _percent(server.reuse_early_share), _percent(server.reuse_late_share)
        ends = (
            f"{early} early, {late} late (25% each if right), {_percent(server.reuse_never_share)} never met"
        )
        within, of_sums = _percent(server.reuse_within_2x_share), _ratio(server.reuse_predicted_by_real)
        seconds = f"{within} within a factor of two; predicted by real {of_sums} in the sum"
        rows += [("time to reuse", medians), ("", seconds), ("predictions", ends)]
    if server.reuse_predicted_share is not None:
        predicted, meanwhile = _percent(server.reuse_predicted_share), _percent(server.reuse_meanwhile_share)
        rows.append(("sessions back", f"{predicted} with a prediction, {meanwhile} of these while idle"))
    if server.reuse_gap_p50_s is not None:
        gap = _seconds(server.reuse_gap_p50_s)
        rows.append(("gap between uses", f"median {gap} of the blocks that vLLM samples"))
    return rows


def _held(watched: Watched) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for held in watched.held[:MOST_SHOWN]:
        where = held.labels.get("instance", "")
        table.add_row(held.alert, visible(f"{where}: {held.reason}" if where else held.reason))
        table.add_row("", Text(held.runbook, style="dim"))
    return table


def _percent(share: float | None) -> str:
    return _UNKNOWN if share is None else percent(share)


def _rate(per_s: float | None) -> str:
    return _UNKNOWN if per_s is None else f"{per_s:,.0f}/s"


def _seconds(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:.1f} s"


def _ratio(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:.2f}"


def _number(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:g}"
