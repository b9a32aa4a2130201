"""``keepwarm check`` for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keepwarm._console import facts, heading, to_text
from keepwarm._text import shorten, visible
from keepwarm.gate.report import wording
from keepwarm.gate.verdict import Verdict

_COLOURS = {"worse": "red", "new": "red", "better": "green", "vanished": "green"}
_NAME_COLUMNS = 46


def render_check(verdict: Verdict, *, width: int, colour: bool) -> str:
    """The check as text of ``width`` columns."""
    refused = bool(verdict.refusals)
    parts: list[RenderableType] = [
        Text(wording.outcome(verdict), style="bold red" if refused else "bold green"),
        facts([("hit rate", wording.rate_line(verdict))]),
        Text(),
        heading("Call sites"),
        _sites(verdict),
    ]
    if verdict.findings:
        parts += [Text(), heading("Findings"), _findings(verdict)]
    return to_text(Group(*parts), width=width, colour=colour)


def _sites(verdict: Verdict) -> Table:
    table = _table("", "call site", "hit rate (simulated)", "requests")
    for change in verdict.sites:
        # A call site that is new or gone is neither good nor bad.
        style = _COLOURS.get(change.status, "") if change.before and change.shown else ""
        table.add_row(
            Text(wording.SITE_STATUS[change.status], style=style),
            shorten(visible(change.label), _NAME_COLUMNS),
            wording.site_rates(change),
            wording.site_requests(change),
        )
    return table


def _findings(verdict: Verdict) -> Table:
    names = {site.key: site.label for site in verdict.sites}
    table = _table("", "cause", "where", "call site", "gives back")
    for change in verdict.findings:
        table.add_row(
            Text(wording.FINDING_STATUS[change.status], style=_COLOURS.get(change.status, "")),
            change.cause,
            wording.place(change),
            shorten(visible(names[change.key]), _NAME_COLUMNS // 2),
            wording.gain(change),
        )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
