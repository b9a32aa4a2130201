"""How a report says that it is of a sample, and by how much each figure may be off."""

from __future__ import annotations

from keepwarm._text import count, counted
from keepwarm.diagnose.findings import CallSite, CallSiteError, Diagnosis, Finding, FindingError


def sample_lines(diagnosis: Diagnosis) -> list[str]:
    """What was read of the trace, what ± means, and what may be missing."""
    sample = diagnosis.sample
    if sample is None:
        return []
    read = (
        f"a sample of {sample.rate:.3g} of the sessions: {count(sample.sessions)} of "
        f"{counted(sample.total_sessions, 'session')}, {count(sample.requests)} of "
        f"{counted(diagnosis.input.requests, 'request')}"
    )
    if sample.rate == 1:
        return [f"{read}, which is all: nothing is estimated"]
    return [
        f"{read}; figures are estimates of the whole trace, ± is their {sample.confidence:.0%} interval",
        f"a cause that concerns fewer than {counted(sample.seen_from_sessions, 'session')} may be missed",
    ]


def rate_off(error: float | None) -> str:
    """`` ± 1.3 points``, rounded up."""
    if not error:
        return ""
    return f" ± {max(0.1, -(-error * 1000 // 1) / 10):.1f} points"


def hit_rate_off(diagnosis: Diagnosis) -> str:
    """The same of the hit rate."""
    return rate_off(None if diagnosis.sample is None else diagnosis.sample.hit_rate_error)


def hit_rate_if_fixed_off(diagnosis: Diagnosis) -> str:
    """The same of the hit rate with every finding fixed."""
    return rate_off(None if diagnosis.sample is None else diagnosis.sample.hit_rate_if_fixed_error)


def count_off(number: int, error: int | None) -> str:
    """``12,000 ± 800``; the number alone where it is exact."""
    return f"{count(number)} ± {count(error)}" if error else count(number)


def site_error(diagnosis: Diagnosis, site: CallSite) -> CallSiteError | None:
    """The errors of a call site."""
    errors = () if diagnosis.sample is None else diagnosis.sample.call_site_errors
    return next((error for error in errors if error.id == site.id), None)


def lost_tokens(diagnosis: Diagnosis, site: CallSite) -> str:
    """Lost tokens of a call site."""
    error = site_error(diagnosis, site)
    return count_off(site.lost_tokens, error.lost_tokens if error else None)


def finding_error(diagnosis: Diagnosis, finding: Finding) -> FindingError | None:
    """The errors of a finding."""
    errors = () if diagnosis.sample is None else diagnosis.sample.finding_errors
    return next((error for error in errors if error.id == finding.id), None)


def recoverable_tokens(diagnosis: Diagnosis, finding: Finding) -> str:
    """What a finding gives back."""
    error = finding_error(diagnosis, finding)
    return count_off(finding.recoverable_tokens, error.recoverable_tokens if error else None)
