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
    for server in watched.servers:
        parts += [Text(), heading(_name(server)), facts(_rows(server))]
    parts += [Text(), heading(f"{counted(len(watched.held), 'alert condition')} now")]
    parts.append(_held(watched) if watched.held else Text("none holds"))
    parts += [Text(), *(Text(f"not known: {line}", style="dim") for line in watched.missing)]
    return to_text(Group(*parts), width=width, colour=colour)


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
    if server.reuse_gap_p50_s is not None:
        real, predicted = f"{server.reuse_gap_p50_s:.1f} s", _number(server.predicted_reuse_p50_s)
        rows.append(
            ("time to reuse", f"median {real} of the blocks that vLLM samples; predicted {predicted}")
        )
    return rows


def _held(watched: Watched) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for held in watched.held:
        where = held.labels.get("instance", "")
        table.add_row(held.alert, visible(f"{where}: {held.reason}" if where else held.reason))
        table.add_row("", Text(held.runbook, style="dim"))
    return table


def _percent(share: float | None) -> str:
    return _UNKNOWN if share is None else percent(share)


def _rate(per_s: float | None) -> str:
    return _UNKNOWN if per_s is None else f"{per_s:,.0f}/s"


def _number(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:g}"
