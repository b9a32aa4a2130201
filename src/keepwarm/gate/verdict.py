"""What became of a trace since its baseline: what got worse, what got better, and whether that passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from keepwarm._errors import InputError
from keepwarm._text import count, percent
from keepwarm.diagnose.findings import CallSite, Diagnosis, Finding
from keepwarm.gate.baseline import Baseline, FindingMark, Setup, SiteMark
from keepwarm.gate.matching import match_findings, match_sites
from keepwarm.gate.taking import Taken, rekeyed

SiteStatus = Literal["worse", "better", "same", "new", "vanished"]
FindingStatus = Literal["new", "known", "moved", "vanished"]
_POINT_DIGITS = 4  # rates are kept to six digits


class SiteChange(msgspec.Struct, frozen=True, kw_only=True):
    """A call site then and now; ``shown`` is None of one that vanished, ``before`` of one that is new."""

    key: str
    status: SiteStatus
    shown: CallSite | None
    before: SiteMark | None
    drop_points: float = 0.0  # percentage points the hit rate fell by; negative where it rose

    @property
    def label(self) -> str:
        """What a person calls it: the name of now, else that of the metadata, else its key."""
        if self.shown is not None:
            return self.shown.name or self.shown.id
        name = None if self.before is None else self.before.name
        return name or f"call site {self.key}"


class FindingChange(msgspec.Struct, frozen=True, kw_only=True):
    """A finding then and now; ``finding`` is None of one that vanished, ``before`` of one that is new."""

    key: str  # of its call site
    status: FindingStatus
    finding: Finding | None
    before: FindingMark | None

    @property
    def cause(self) -> str:
        """The code of its cause."""
        known = self.finding or self.before
        assert known is not None
        return known.cause

    @property
    def path(self) -> str | None:
        """Where it is, or was."""
        known = self.finding or self.before
        assert known is not None
        return known.path


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. Rates are simulated, and of the call sites that both traces have."""

    diagnosis: Diagnosis  # as it may be shown
    max_drop_points: float
    hit_rate_before: float
    hit_rate_now: float
    sites: tuple[SiteChange, ...]
    findings: tuple[FindingChange, ...]

    @property
    def drop_points(self) -> float:
        """Percentage points by which the hit rate over all fell; negative where it rose."""
        return _points(self.hit_rate_before, self.hit_rate_now)

    @property
    def refusals(self) -> tuple[str, ...]:
        """What speaks against it, one short phrase each; none: it passes."""
        out = []
        if self.drop_points > self.max_drop_points:
            out.append(f"hit rate {_fell(self.hit_rate_before, self.hit_rate_now)}")
        out += [
            f"hit rate of {site.label!r} {_fell(site.before.hit_rate, site.shown.hit_rate)}"
            f"{_other_number(site.before.requests, site.shown.requests)}"
            for site in self.sites
            if site.status == "worse" and site.before is not None and site.shown is not None
        ]
        names = {site.key: site.label for site in self.sites}
        out += [
            f"new finding {change.cause} at {change.path or 'no path'} of {names[change.key]!r}"
            for change in self.findings
            if change.status == "new"
        ]
        return tuple(out)


def judge(shown: Diagnosis, taken: Taken, baseline: Baseline, max_drop_points: float) -> Verdict:
    """Compare what was ``taken``, with its diagnosis as it may be ``shown``, with ``baseline``.

    Raises InputError: the two were not made alike, or have nothing in common.
    """
    refuse_other_setup(baseline.setup, taken.baseline.setup)
    now = matched(taken, baseline)
    marks = {site.key: site for site in now.baseline.call_sites}
    common = [site for site in baseline.call_sites if site.key in marks]
    if baseline.call_sites and not common:
        raise InputError(
            "none of the baseline's call sites is in this trace, so there is nothing to compare; "
            "check the files, or start again with --write-baseline"
        )
    return Verdict(
        diagnosis=shown,
        max_drop_points=max_drop_points,
        hit_rate_before=_pooled(common),
        hit_rate_now=_pooled([marks[site.key] for site in common]),
        sites=_site_changes(shown, now, baseline, max_drop_points),
        findings=_finding_changes(shown, now, baseline),
    )


def matched(taken: Taken, baseline: Baseline) -> Taken:
    """``taken`` under the keys of ``baseline`` for the call sites it knows."""
    return rekeyed(taken, match_sites(baseline.call_sites, taken.baseline.call_sites))


def refuse_other_setup(then: Setup, now: Setup) -> None:
    """Raises InputError where rates of the two do not mean the same, naming each difference."""
    names = {"encoding_sha256": "what tokenizer and template make of a text", "ttl_s": "time to live"}
    differ = [field for field in then.__struct_fields__ if getattr(then, field) != getattr(now, field)]
    if "tokenizer" in differ or "chat_template" in differ:
        differ = [field for field in differ if field != "encoding_sha256"]
    if differ:
        said = ", ".join(
            f"{names.get(name, name.replace('_', ' '))} {_value(then, name)} then, {_value(now, name)} now"
            for name in differ
        )
        raise InputError(
            f"the baseline was made otherwise ({said}); read the trace as then, or write a new baseline with "
            "--write-baseline"
        )


def _value(setup: Setup, field: str) -> str:
    value = getattr(setup, field)
    if field == "encoding_sha256" and value is not None:
        return str(value)[:8]
    return "none" if value is None else repr(value)


def _site_changes(
    shown: Diagnosis, now: Taken, baseline: Baseline, max_drop_points: float
) -> tuple[SiteChange, ...]:
    before = {site.key: site for site in baseline.call_sites}
    out = [_site_change(site, now.keys[site.id], before, max_drop_points) for site in shown.call_sites]
    keys = {change.key for change in out}
    gone = [site for site in baseline.call_sites if site.key not in keys]
    return (
        *out,
        *(SiteChange(key=site.key, status="vanished", shown=None, before=site) for site in gone),
    )


def _site_change(
    site: CallSite, key: str, before: Mapping[str, SiteMark], max_drop_points: float
) -> SiteChange:
    old = before.get(key)
    if old is None:
        return SiteChange(key=key, status="new", shown=site, before=None)
    drop = _points(old.hit_rate, site.hit_rate)
    status: SiteStatus = "worse" if drop > max_drop_points else "better" if drop < 0 else "same"
    return SiteChange(key=key, status=status, shown=site, before=old, drop_points=drop)


def _finding_changes(shown: Diagnosis, now: Taken, baseline: Baseline) -> tuple[FindingChange, ...]:
    found = match_findings(baseline.findings, now.marks)
    statuses: dict[str, tuple[FindingStatus, FindingMark | None]] = {
        **{finding: ("known", mark) for finding, mark in found.known.items()},
        **{finding: ("moved", mark) for finding, mark in found.moved.items()},
        **dict.fromkeys(found.new, ("new", None)),
    }
    changes = [
        FindingChange(
            key=now.marks[finding.id].call_site,
            status=statuses[finding.id][0],
            finding=finding,
            before=statuses[finding.id][1],
        )
        for finding in shown.findings
    ]
    order: tuple[FindingStatus, ...] = ("new", "moved", "known")
    changes.sort(key=lambda change: order.index(change.status))
    gone = [
        FindingChange(key=mark.call_site, status="vanished", finding=None, before=mark)
        for mark in found.vanished
    ]
    return (*changes, *gone)


def _pooled(sites: list[SiteMark]) -> float:
    tokens = sum(site.prompt_tokens for site in sites)
    return round(sum(site.hit_tokens for site in sites) / tokens, 6) if tokens else 0.0


def _points(before: float, now: float) -> float:
    return round(100 * (before - now), _POINT_DIGITS)


def _fell(before: float, now: float) -> str:
    return f"fell from {percent(before)} to {percent(now)}"


def _other_number(before: int, now: int) -> str:
    """Fewer requests have fewer earlier ones to share with: say so where it may be the whole reason."""
    return "" if before == now else f" (of {count(before)} requests then, {count(now)} now)"
