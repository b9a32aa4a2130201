"""``keepwarm explain``: one request, what became of its tokens and why."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from keepwarm._console import facts, heading, to_text
from keepwarm._errors import InputError
from keepwarm._text import clip, count, counted, shorten, visible
from keepwarm.diagnose.findings import Diagnosis, Finding, RequestRow
from keepwarm.diagnose.report import wording
from keepwarm.diagnose.report.terminal import fates_bar, where

_CONTEXT_CHARS = 240


def find_request(rows: Sequence[RequestRow], wanted: str) -> RequestRow:
    """The request with id ``wanted``, else the one on that 1-based line.

    Of several requests with one id, the first. Raises InputError with the nearest ids.
    """
    for row in rows:
        if row.id == wanted:
            return row
    if wanted.isascii() and wanted.isdigit():
        for row in rows:
            if row.line == int(wanted):
                return row
    raise InputError(f"no request {wanted!r} in this trace{_nearest(rows, wanted)}")


def _nearest(rows: Sequence[RequestRow], wanted: str) -> str:
    ids = list(dict.fromkeys(row.id for row in rows))
    close = wording.nearest(wanted, ids)
    if close:
        return f"; the nearest ids are {', '.join(map(repr, close))}"
    return f"; its ids run from {ids[0]!r} to {ids[-1]!r}, a line number will do too" if ids else ""


def findings_of(diagnosis: Diagnosis, row: RequestRow) -> tuple[Finding, ...]:
    """The findings that this request belongs to: its call site, one of its causes."""
    return tuple(f for f in diagnosis.findings if f.call_site == row.call_site and f.cause in row.causes)


def render_request(diagnosis: Diagnosis, row: RequestRow, *, width: int, colour: bool, revealed: bool) -> str:
    """One request as text of ``width`` columns. ``diagnosis`` is shown as it stands: mask it before."""
    parts: list[RenderableType] = [
        heading(f"Request {shorten(visible(row.id), width - 16)}"),
        facts(_identity(diagnosis, row, width)),
        Text(),
        fates_bar(row.tokens, width, whole="tokens of this prompt"),
        Text(),
        *_break(row, width),
        *_causes(diagnosis, row, width),
    ]
    if row.break_here and not revealed:
        parts += [Text(), Text("What requests have of their own is masked; --reveal shows it.", style="dim")]
    return to_text(Group(*parts), width=width, colour=colour)


def _identity(diagnosis: Diagnosis, row: RequestRow, width: int) -> list[tuple[str, str | Text]]:
    names = wording.site_names(diagnosis)
    path = shorten(visible(diagnosis.input.path), max(16, width - 34))
    rows: list[tuple[str, str | Text]] = [
        ("trace", f"{path}, line {count(row.line)}"),
        ("call site", shorten(names.get(row.call_site, visible(row.call_site)), width - 14)),
        ("session", shorten(visible(row.session), width - 14)),
        ("model", visible(row.model) or "not recorded"),
        ("tokens", wording.encoding_line(diagnosis)),
        ("cache", wording.cache_line(diagnosis)),
    ]
    if row.cached_tokens is not None:
        recorded = (
            f"{counted(row.cached_tokens, 'token')} recorded by the server, {count(row.tokens.hit)} simulated"
        )
        rows.append(("hits", recorded))
    return rows


def _break(row: RequestRow, width: int) -> list[RenderableType]:
    if row.baseline_request is None:
        text = "No earlier request shares a prefix with this one: nothing could have been served."
        return [heading("Break"), Text(text), Text()]
    baseline = shorten(visible(row.baseline_request), width - 66)
    rows: list[tuple[str, str | Text]] = [
        ("baseline", f"{baseline}, the earlier request with the longest common prefix")
    ]
    if row.break_token is None:
        rows.append(("break", "none: the whole prompt continues the baseline"))
        return [heading("Break"), facts(rows), Text()]
    rows.append(("break", where(row.break_path, row.break_token, width - 14)))
    for name, text, style in (
        ("before", row.break_before, "dim"),
        ("here", row.break_here, "bold magenta"),
        ("there", row.break_there, "bold cyan"),
    ):
        if text:
            clipped = clip(visible(text), _CONTEXT_CHARS, keep_end=name == "before")
            rows.append((name, Text(clipped, style=style)))
    return [heading("Break"), facts(rows), Text()]


def _causes(diagnosis: Diagnosis, row: RequestRow, width: int) -> list[RenderableType]:
    if not row.causes:
        return [heading("Causes"), Text("None: nothing avoidable was lost here.")]
    findings = findings_of(diagnosis, row)
    parts: list[RenderableType] = [heading("Causes")]
    for cause in row.causes:
        known = [finding for finding in findings if finding.cause == cause]
        parts.append(Text(visible(cause), style="bold"))
        lines: list[tuple[str, str | Text]] = [("finding", "none: too little in all to report")]
        if known:
            lines = [line for finding in known for line in _finding_lines(finding, width)]
        parts.append(Padding(facts(lines), (0, 0, 0, 3)))
    return parts


def _finding_lines(finding: Finding, width: int) -> list[tuple[str, str | Text]]:
    gain = f"{visible(finding.id)}: {counted(finding.recoverable_tokens, 'recoverable token')} (simulated)"
    return [
        ("finding", f"{gain} in {counted(finding.requests, 'request')}, owner {finding.owner.value}"),
        ("where", where(finding.path, finding.token_offset, width - 14)),
        ("fix", visible(finding.suggestion)),
    ]
