"""The leaderboard: every call site with what its prompts met, and what its findings would give back."""

from __future__ import annotations

from keepwarm.api.diagnoses.shelf import Opened
from keepwarm.api.schema.diagnosis import CallSiteRow
from keepwarm.diagnose.engine import rate_if_fixed
from keepwarm.diagnose.findings import CallSite, Finding, TokenFates
from keepwarm.diagnose.report.wording import by_recovery, leaderboard


def call_site_rows(opened: Opened) -> tuple[CallSiteRow, ...]:
    """Most lost tokens first."""
    # The requests of a sample are its own; what is shown is of the whole trace.
    has_all = opened.has_requests and opened.shown.sample is None
    tokens = opened.requests().tokens_by_site() if has_all else {}
    findings: dict[str, list[Finding]] = {}
    for finding in by_recovery(opened.shown):
        findings.setdefault(finding.call_site, []).append(finding)
    return tuple(
        _row(site, tokens.get(site.id), tuple(findings.get(site.id, ())))
        for site in leaderboard(opened.shown)
    )


def _row(site: CallSite, tokens: TokenFates | None, findings: tuple[Finding, ...]) -> CallSiteRow:
    # Where only the document was saved, the rate is what there is of the site's hits.
    hit = round(site.hit_rate * site.prompt_tokens) if tokens is None else tokens.hit
    prompt = site.prompt_tokens if tokens is None else tokens.prompt
    return CallSiteRow(
        id=site.id,
        name=site.name,
        requests=site.requests,
        sessions=site.sessions,
        tokens=tokens,
        prompt_tokens=prompt,
        lost_tokens=site.lost_tokens,
        hit_rate=site.hit_rate,
        hit_rate_if_fixed=rate_if_fixed(hit, prompt, findings),
        findings=findings,
    )
