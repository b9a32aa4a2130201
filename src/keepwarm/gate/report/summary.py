"""The check as a GitHub job summary: Markdown in which recorded text is only text."""

from __future__ import annotations

import re

from keepwarm._text import clip, shorten, visible
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.report.wording import cache_line, encoding_line, varying
from keepwarm.gate.report import wording
from keepwarm.gate.verdict import FindingChange, Verdict

_NAME_COLUMNS = 60
_CONTEXT_CHARS = 80
_MOST_ROWS = 200  # a summary may have a mebibyte
_BACKTICKS = re.compile("`+")
_ACTIVE = re.compile(r"([\\`*_{}\[\]()<>#+!|~@&:.-])")


def render_summary(verdict: Verdict) -> str:
    """The check as Markdown, ending with a line end."""
    refused = bool(verdict.refusals)
    lines = [
        f"## keepwarm: the prefix cache {'lost' if refused else 'holds'}",
        "",
        wording.outcome(verdict),
        "",
        f"Hit rate {wording.rate_line(verdict)}.",
        "",
        *_refusals(verdict),
        *_sites(verdict),
        *_findings(verdict),
        *_setup(verdict.diagnosis),
    ]
    return "\n".join(lines) + "\n"


def render_written(diagnosis: Diagnosis, baseline: str) -> str:
    """What to say where a baseline was written and nothing compared."""
    said = f"A new baseline was written to {_code(baseline)}; nothing was compared."
    return "\n".join(["## keepwarm: a new baseline", "", said, "", *_setup(diagnosis)]) + "\n"


def _refusals(verdict: Verdict) -> list[str]:
    listed = [f"- {_escaped(visible(refusal))}" for refusal in verdict.refusals[:_MOST_ROWS]]
    return [*listed, *_rest(len(verdict.refusals)), ""] if listed else []


def _sites(verdict: Verdict) -> list[str]:
    rows = [
        [
            wording.SITE_STATUS[change.status],
            _code(shorten(visible(change.label), _NAME_COLUMNS)),
            wording.site_rates(change),
            wording.site_requests(change),
        ]
        for change in verdict.sites
    ]
    return _table(["", "call site", "hit rate (simulated)", "requests"], rows)


def _findings(verdict: Verdict) -> list[str]:
    if not verdict.findings:
        return []
    names = {site.key: shorten(visible(site.label), _NAME_COLUMNS) for site in verdict.sites}
    rows = [
        [
            wording.FINDING_STATUS[change.status],
            _code(change.cause),
            _code(wording.place(change)),
            _code(names[change.key]),
            _shown(change),
            wording.gain(change),
        ]
        for change in verdict.findings
    ]
    titles = ["", "cause", "where", "call site", "what varies (masked)", "gives back"]
    fixes = [
        f"- {_code(change.cause)}: {_escaped(visible(change.finding.suggestion))}"
        for change in verdict.findings[:_MOST_ROWS]
        if change.status == "new" and change.finding is not None
    ]
    return [*_table(titles, rows), *fixes, *([""] if fixes else [])]


def _shown(change: FindingChange) -> str:
    """The break in context: stable text, one masked value, stable text."""
    if change.finding is None:
        return ""
    evidence = change.finding.evidence
    values, _ = varying(change.finding, 1)
    before = clip(visible(evidence.before), _CONTEXT_CHARS // 2, keep_end=True)
    after = clip(visible(evidence.after), _CONTEXT_CHARS // 2)
    text = "".join([before, *(clip(value, _CONTEXT_CHARS) for value in values), after])
    return _code(text) if text else ""


def _setup(diagnosis: Diagnosis) -> list[str]:
    return [f"{_escaped(encoding_line(diagnosis))}. Cache: {cache_line(diagnosis)}."]


def _table(titles: list[str], rows: list[list[str]]) -> list[str]:
    lines = [f"| {' | '.join(titles)} |", f"|{' --- |' * len(titles)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows[:_MOST_ROWS]]
    return [*lines, *(["", *_rest(len(rows))] if len(rows) > _MOST_ROWS else []), ""]


def _rest(total: int) -> list[str]:
    return [f"and {total - _MOST_ROWS} more"] if total > _MOST_ROWS else []


def _code(text: str) -> str:
    """``text`` as a code span, also within a table: nothing in it is markup."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", r"\|")


def _escaped(text: str) -> str:
    """``text`` with every character that Markdown, HTML or GitHub gives a meaning escaped."""
    return _ACTIVE.sub(r"\\\1", text)
