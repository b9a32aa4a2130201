"""The terminal report: what an expert reads first, in 80 columns or 140, with or without colour."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from keepwarm._console import facts, heading, to_text
from keepwarm._text import clip, columns, count, counted, percent, plural, share, shorten, visible
from keepwarm.diagnose.findings import Diagnosis, Finding, TokenFates
from keepwarm.diagnose.report import sampled, wording

_MOST_SKIPPED = 3
_MOST_SITES = 15
_CONTEXT_CHARS = 160


def render_report(
    diagnosis: Diagnosis, *, width: int, colour: bool, top: int, next_steps: list[tuple[str, str]]
) -> str:
    """The whole report as text of ``width`` columns, with at most ``top`` findings.

    ``diagnosis`` is shown as it stands: mask it before. ``next_steps`` are commands with what
    each is for.
    """
    names = wording.site_names(diagnosis)
    parts: list[RenderableType] = [_header(diagnosis, width), Text()]
    parts += [Text(wording.verdict(diagnosis), style="bold"), fates_bar(diagnosis.tokens, width), Text()]
    parts += _leaderboard(diagnosis, names, width)
    parts += _findings(diagnosis, names, width, top)
    if next_steps:
        parts += [heading("Next"), _steps(next_steps, width)]
    return to_text(Group(*parts), width=width, colour=colour)


def fates_bar(tokens: TokenFates, width: int, *, whole: str = "tokens of all prompts") -> RenderableType:
    """The six fates as one stacked bar, with a legend of what is not zero, which adds up to ``whole``."""
    counts = wording.fate_counts(tokens)
    bar = Text()
    for fate, cells in zip(wording.FATES, wording.cells(counts, width), strict=True):
        bar.append(fate.glyph * cells, style=fate.colour)
    legend = Table.grid(padding=(0, 2))
    legend.add_column(no_wrap=True)
    legend.add_column(justify="right", no_wrap=True)
    legend.add_column(justify="right", no_wrap=True)
    legend.add_column(style="dim", overflow="fold")
    for fate, number in zip(wording.FATES, counts, strict=True):
        if number:
            name = Text.assemble((fate.glyph, fate.colour), " ", fate.name)
            legend.add_row(name, count(number), share(number, tokens.prompt), fate.meaning)
    legend.add_row("= prompt", count(tokens.prompt), "", whole if tokens.prompt else "no tokens")
    return Group(bar, legend)


def _header(diagnosis: Diagnosis, width: int) -> RenderableType:
    info = diagnosis.input
    rows: list[tuple[str, str | Text]] = [
        ("trace", Text(shorten(visible(info.path), width - 12), style="bold")),
        ("", wording.input_line(diagnosis)),
    ]
    rows += [
        ("" if number else "sample", line) for number, line in enumerate(sampled.sample_lines(diagnosis))
    ]
    if skipped := wording.skipped_line(diagnosis):
        rows.append(("skipped", Text(skipped, style="yellow")))
        rows += [
            ("", f"line {line.line}: {clip(visible(line.reason), 2 * width)}")
            for line in info.skipped[:_MOST_SKIPPED]
        ]
        if len(info.skipped) > _MOST_SKIPPED:
            rows.append(("", f"and {len(info.skipped) - _MOST_SKIPPED} more; --json lists all"))
    rows += [("tokens", wording.encoding_line(diagnosis)), ("cache", wording.cache_line(diagnosis))]
    if measured := wording.measured_line(diagnosis):
        rows.append(("hits", measured))
    rows += [("note", caveat) for caveat in wording.caveats(diagnosis)]
    return Group(heading("keepwarm: what misses the prefix cache, and why"), facts(rows))


def _leaderboard(diagnosis: Diagnosis, names: dict[str, str], width: int) -> list[RenderableType]:
    sites = wording.leaderboard(diagnosis)
    if not sites:
        return []
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("call site", no_wrap=True, overflow="ellipsis")
    for title in ("requests", "sessions", "prompt tokens", "hit rate", "lost tokens"):
        table.add_column(title, justify="right", no_wrap=True)
    wide = 62 if diagnosis.sample is None else 74
    for site in sites[:_MOST_SITES]:
        lost = Text(sampled.lost_tokens(diagnosis, site), style="red" if site.lost_tokens else "dim")
        numbers = (
            count(site.requests),
            count(site.sessions),
            count(site.prompt_tokens),
            percent(site.hit_rate),
        )
        table.add_row(shorten(names[site.id], max(16, width - wide)), *numbers, lost)
    parts: list[RenderableType] = [heading("Call sites, most lost tokens first (simulated)"), table]
    if len(sites) > _MOST_SITES:
        parts.append(Text(f"and {len(sites) - _MOST_SITES} more; --json lists all", style="dim"))
    return [*parts, Text()]


def _findings(diagnosis: Diagnosis, names: dict[str, str], width: int, top: int) -> list[RenderableType]:
    findings = wording.by_recovery(diagnosis)
    if not findings:
        return [heading("Findings"), Text(wording.nothing_found(diagnosis)), Text()]
    parts: list[RenderableType] = [heading("Findings, most recoverable tokens first (simulated)")]
    for number, finding in enumerate(findings[:top], start=1):
        parts += [_finding(number, finding, diagnosis, names, width), Text()]
    if len(findings) > top:
        hidden = len(findings) - top
        parts += [
            Text(f"and {counted(hidden, 'finding')} more; --top {len(findings)} shows all", style="dim"),
            Text(),
        ]
    return parts


def _finding(
    number: int, finding: Finding, diagnosis: Diagnosis, names: dict[str, str], width: int
) -> RenderableType:
    title = Text.assemble(
        (f"{number}. {visible(finding.cause)}", "bold red" if finding.fixable else "bold yellow"),
        ("  owner ", "dim"),
        finding.owner.value,
        f", {wording.OWNERS[finding.owner]}",
    )
    gain = (
        f"{sampled.recoverable_tokens(diagnosis, finding)} {plural(finding.recoverable_tokens, 'token')}, "
        f"{share(finding.recoverable_tokens, diagnosis.tokens.prompt)} of all prompt tokens (simulated), "
        f"in {counted(finding.requests, 'request')}; confidence {finding.confidence:.0%}"
    )
    if finding.added_tokens:
        gain += f"; the fix itself adds {counted(finding.added_tokens, 'token')} to prompts"
    rows: list[tuple[str, str | Text]] = [
        ("call site", shorten(names.get(finding.call_site, visible(finding.call_site)), width - 18)),
        ("where", where(finding.path, finding.token_offset, width - 18)),
        ("gives back", Text(gain)),
        *_context(finding),
        ("fix", visible(finding.suggestion)),
    ]
    return Group(title, Padding(facts(rows), (0, 0, 0, 3)))


def where(path: str | None, token_offset: int | None, width: int) -> str:
    """``messages[0].content, from token 34 of the prompt``; on two lines where one is too short."""
    place = shorten(visible(path), width) if path else "no slot in the request body"
    if token_offset is None:
        return place
    start = f"from token {count(token_offset)} of the prompt"
    return f"{place}, {start}" if columns(place) + len(start) + 2 <= width else f"{place}\n{start}"


def _context(finding: Finding) -> list[tuple[str, str | Text]]:
    """The break in context: stable text, what varies, stable text."""
    evidence = finding.evidence
    rows: list[tuple[str, str | Text]] = []
    if evidence.before:
        rows.append(
            ("before", Text(clip(visible(evidence.before), _CONTEXT_CHARS, keep_end=True), style="dim"))
        )
    values, more = wording.varying(finding)
    for index, value in enumerate(values):
        shown = Text(clip(value, _CONTEXT_CHARS), style="bold magenta")
        rows.append(("varies" if index == 0 else "", shown))
    if more:
        rows.append(("", f"and {counted(more, 'other value')}"))
    if evidence.after:
        rows.append(("after", Text(clip(visible(evidence.after), _CONTEXT_CHARS), style="dim")))
    if evidence.request is not None:
        against = f", against {visible(evidence.compared_with)}" if evidence.compared_with else ""
        rows.append(("seen in", f"{visible(evidence.request)}{against}"))
    if evidence.note:
        rows.append(("note", visible(evidence.note)))
    return rows


def _steps(steps: list[tuple[str, str]], width: int) -> RenderableType:
    """Commands to copy: never broken over lines, what they are for beside or below."""
    lines = []
    widest = max(len(command) for command, _ in steps)
    for command, purpose in steps:
        if widest + len(max((p for _, p in steps), key=len)) + 6 <= width:
            lines.append(Text.assemble("  ", (command.ljust(widest + 2), "bold"), (purpose, "dim")))
        else:
            lines += [Text(f"  {purpose}:", style="dim"), Text(f"    {command}", style="bold")]
    return Group(*[Text.assemble(line, no_wrap=True, overflow="ignore") for line in lines])
