"""What the terminal report and the job summary say alike."""

from __future__ import annotations

from keepwarm._text import count, counted, percent, visible
from keepwarm.gate.baseline import Baseline
from keepwarm.gate.verdict import FindingChange, FindingStatus, SiteChange, SiteStatus, Verdict

SITE_STATUS: dict[SiteStatus, str] = {
    "worse": "worse",
    "better": "better",
    "same": "within bounds",
    "new": "new",
    "vanished": "gone",
}
FINDING_STATUS: dict[FindingStatus, str] = {
    "new": "new",
    "moved": "known, moved",
    "known": "known",
    "vanished": "gone",
}


def rate_line(verdict: Verdict) -> str:
    """The hit rate then and now, what it is of, and what was allowed."""
    common = sum(site.before is not None and site.shown is not None for site in verdict.sites)
    allowed = f"{verdict.max_drop_points:g} {'point' if verdict.max_drop_points == 1 else 'points'}"
    return (
        f"{percent(verdict.hit_rate_before)} → {percent(verdict.hit_rate_now)} (simulated, "
        f"{counted(common, 'call site')} in both; may drop {allowed})"
    )


def site_rates(change: SiteChange) -> str:
    """``75.0% → 60.1%``; one rate where the call site is on one side only."""
    rates = [side.hit_rate for side in (change.before, change.shown) if side is not None]
    return " → ".join(map(percent, rates))


def site_requests(change: SiteChange) -> str:
    """``30``, or ``30 → 34``: rates of other numbers of requests are less alike."""
    counts = [side.requests for side in (change.before, change.shown) if side is not None]
    return " → ".join(count(number) for number in dict.fromkeys(counts))


def place(change: FindingChange) -> str:
    """The JSON path, with the earlier one where it moved."""
    here = visible(change.path) if change.path else "no slot in the request body"
    if change.status == "moved" and change.before is not None and change.before.path:
        return f"{here} (was {visible(change.before.path)})"
    return here


def gain(change: FindingChange) -> str:
    """What removing it would give back, or would have given back."""
    known = change.finding or change.before
    return "" if known is None else counted(known.recoverable_tokens, "token")


def written_line(baseline: Baseline, path: str) -> str:
    """What was written, and what to do with it; ends with a line end."""
    sites = counted(len(baseline.call_sites), "call site")
    findings = counted(len(baseline.findings), "finding")
    return (
        f"Baseline of {counted(baseline.requests, 'request')} written to {path!r}: hit rate "
        f"{percent(baseline.hit_rate)} (simulated), {sites}, {findings}. Commit it.\n"
    )


def outcome(verdict: Verdict) -> str:
    """One sentence: whether it passes, and what got better where something did."""
    gone = sum(change.status == "vanished" for change in verdict.findings)
    better = [f"{counted(gone, 'finding')} gone"] if gone else []
    if verdict.drop_points < 0:
        better.append(f"hit rate up {-verdict.drop_points:.1f} points")
    if verdict.refusals:
        said = f"Refused: {counted(len(verdict.refusals), 'thing')} got worse"
        return f"{said}; better: {', '.join(better)}." if better else f"{said}."
    if better:
        return f"Passed; {', '.join(better)}. --write-baseline keeps it that way."
    return "Passed; nothing got worse."
