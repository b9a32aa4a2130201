"""The check as SARIF 2.1.0 (OASIS), for code scanning: a rule per cause, a result per finding and lost rate.

A result points at the line of the trace that shows it. Where a task says in which source file the text is
built, it points there first. ``partialFingerprints`` hold the identity of the baseline, so that a finding
stays one alert for as long as its call site is recognised.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from keepwarm import __version__
from keepwarm._json import plain
from keepwarm._text import counted, percent, visible
from keepwarm.diagnose.findings import Diagnosis, Finding, Owner
from keepwarm.diagnose.report.causes import Cause, known_causes
from keepwarm.gate.verdict import FindingChange, SiteChange, Verdict
from keepwarm.repair.task import Location, Task

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LOST_RATE = Cause(
    code="hit-rate",
    owner=Owner.APP,
    fixable=True,
    summary="hit rate lower than in the baseline",
    suggestion="Look at the new findings of the call site; if the change is meant, write a new baseline.",
    documentation=(
        "The simulated hit rate fell by more than the check allows.\n\n"
        "**Fix.** Look at the new findings of the call site. If the change is meant, write a new baseline "
        "with `keepwarm check --write-baseline` and commit it."
    ),
)


def sarif_document(verdict: Verdict, trace: Path, tasks: Sequence[Task] = ()) -> dict[str, Any]:
    """One run with the findings of now. Paths below the working directory are relative to it."""
    present = [change for change in verdict.findings if change.finding is not None]
    rates = _rate_results(verdict, trace)
    causes = {cause.code: cause for cause in known_causes()}
    codes = dict.fromkeys(change.cause for change in present)
    rules = [causes[code] for code in causes if code in codes] + ([_LOST_RATE] if rates else [])
    index = {rule.code: number for number, rule in enumerate(rules)}
    results = [
        *(_finding_result(change, index, verdict, trace, tasks) for change in present),
        *({**rate, "ruleIndex": index[_LOST_RATE.code]} for rate in rates),
    ]
    driver = {"name": "keepwarm", "version": __version__, "rules": [_rule(cause) for cause in rules]}
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "keepwarm/"},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    document: dict[str, Any] = plain({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})
    return document


def _rule(cause: Cause) -> dict[str, Any]:
    text = cause.documentation.replace("**", "").replace("`", "")
    return {
        "id": cause.code,
        "name": "".join(word.capitalize() for word in cause.code.split("-")),
        "shortDescription": {"text": cause.summary},
        "fullDescription": {"text": cause.suggestion},
        "help": {"text": text, "markdown": cause.documentation},
        "defaultConfiguration": {"level": _usual_level(cause.owner)},
        "properties": {"owner": cause.owner, "tags": ["prefix-cache", f"owner/{cause.owner}"]},
    }


def _usual_level(owner: Owner) -> str:
    """A finding that was there before: the engine's are for whoever runs the servers to know."""
    return "note" if owner is Owner.ENGINE else "warning"


def _finding_result(
    change: FindingChange, index: dict[str, int], verdict: Verdict, trace: Path, tasks: Sequence[Task]
) -> dict[str, Any]:
    finding = change.finding
    assert finding is not None
    site = next(site for site in verdict.sites if site.key == change.key)
    shown = _in_trace(trace, _line(verdict.diagnosis, finding))
    source = [_in_source(location) for location in _located(finding, site, verdict.diagnosis, tasks)]
    result = {
        "ruleId": finding.cause,
        "ruleIndex": index[finding.cause],
        "level": "error" if change.status == "new" else _usual_level(finding.owner),
        "message": {"text": _message(finding, site)},
        "locations": source[:1] or [shown],
        "partialFingerprints": {"keepwarmFinding/v1": _digest(change.key, change.cause, change.path or "")},
        "baselineState": "new" if change.status == "new" else "unchanged",
        "properties": {
            "owner": finding.owner,
            "callSite": site.label,
            "path": finding.path,
            "recoverableTokens": finding.recoverable_tokens,
            "confidence": finding.confidence,
        },
    }
    if source:
        others = [*source[1:], shown]
        result["relatedLocations"] = [{"id": number, **place} for number, place in enumerate(others, 1)]
    return result


def _message(finding: Finding, site: SiteChange) -> str:
    place = finding.path or "no slot in the request body"
    token = "" if finding.token_offset is None else f", from token {finding.token_offset}"
    gain = counted(finding.recoverable_tokens, "token")
    return visible(
        f"{finding.cause} at {place} of call site {site.label!r}{token}: costs {gain} (simulated) in "
        f"{counted(finding.requests, 'request')}. {finding.suggestion}"
    )


def _rate_results(verdict: Verdict, trace: Path) -> list[dict[str, Any]]:
    """One per call site that lost too much, or one for all together where the loss is spread over them."""
    lines: dict[str, int] = {}
    for row in verdict.diagnosis.rows:
        lines[row.call_site] = min(row.line, lines.get(row.call_site, row.line))
    results = [
        _rate_result(
            f"hit rate of call site {site.label!r}",
            (site.before.hit_rate, site.shown.hit_rate),
            site.key,
            _in_trace(trace, lines.get(site.shown.id, 1)),
        )
        for site in verdict.sites
        if site.status == "worse" and site.before is not None and site.shown is not None
    ]
    if not results and verdict.drop_points > verdict.max_drop_points:
        rates = (verdict.hit_rate_before, verdict.hit_rate_now)
        results.append(_rate_result("hit rate", rates, "", _in_trace(trace, min(lines.values(), default=1))))
    return results


def _rate_result(what: str, rates: tuple[float, float], key: str, place: dict[str, Any]) -> dict[str, Any]:
    then, now = map(percent, rates)
    return {
        "ruleId": _LOST_RATE.code,
        "level": "error",
        "message": {"text": visible(f"{what} fell from {then} to {now} (simulated)")},
        "locations": [place],
        "partialFingerprints": {"keepwarmFinding/v1": _digest(key, _LOST_RATE.code, "")},
        "baselineState": "new",
    }


def _located(
    finding: Finding, site: SiteChange, diagnosis: Diagnosis, tasks: Sequence[Task]
) -> list[Location]:
    """Where tasks about this very finding say the text is built, surest first."""
    found = [
        location
        for task in tasks
        if (task.finding.cause, task.finding.path) == (finding.cause, finding.path)
        and _same_site(task, finding, site, diagnosis)
        for location in task.locations
    ]
    return sorted(found, key=lambda place: (-place.confidence, place.file, place.first_line))


def _same_site(task: Task, finding: Finding, site: SiteChange, diagnosis: Diagnosis) -> bool:
    """The same trace numbers its call sites alike; of another one only the name tells."""
    if task.trace_sha256 == diagnosis.input.sha256:
        return task.finding.call_site == finding.call_site
    return bool(task.finding.call_site_name) and task.finding.call_site_name == site.label


def _line(diagnosis: Diagnosis, finding: Finding) -> int:
    """The trace's line of the request that shows the finding, else of the first one of its call site."""
    for row in diagnosis.rows:
        if row.id == finding.evidence.request:
            return row.line
    lines = [row.line for row in diagnosis.rows if row.call_site == finding.call_site]
    return min(lines, default=1)


def _in_trace(trace: Path, line: int) -> dict[str, Any]:
    return _place(_uri(trace), line, line)


def _in_source(location: Location) -> dict[str, Any]:
    return _place(quote(location.file), location.first_line, location.last_line)


def _place(uri: str, first: int, last: int) -> dict[str, Any]:
    region = {"startLine": max(1, first), "endLine": max(1, first, last)}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def _uri(path: Path) -> str:
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - links stay: the repository knows them by that name
    if absolute.is_relative_to(Path.cwd()):
        return quote(os.fsencode(absolute.relative_to(Path.cwd())))
    return absolute.as_uri()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
