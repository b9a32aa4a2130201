"""The findings of a diagnosis as a few lines of text: the golden reports of the rule suite."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from keepwarm.diagnose.findings import Diagnosis, Finding, RequestRow

_WIDTH = 100


def report(diagnosis: Diagnosis) -> str:
    """Totals, then every finding with its evidence, then what each request lost and why."""
    return "\n".join(_lines(diagnosis)) + "\n"


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    tokens = diagnosis.tokens
    yield (
        f"{diagnosis.input.requests} requests, {tokens.prompt} tokens: hit {tokens.hit}, "
        f"forced {tokens.forced}, partial {tokens.partial}, cold {tokens.cold}, "
        f"diverged {tokens.diverged}, evicted {tokens.evicted}"
    )
    yield f"hit rate {diagnosis.hit_rate:.3f}, if fixed {diagnosis.hit_rate_if_fixed:.3f}"
    for site in diagnosis.call_sites:
        traffic = f"{site.requests} requests, {site.sessions} sessions"
        yield f"{site.id}: {traffic}, lost {site.lost_tokens}"
    for finding in diagnosis.findings:
        yield ""
        yield from _finding(finding)
    yield ""
    yield from map(_row, diagnosis.rows)


def _finding(finding: Finding) -> Iterator[str]:
    remedy = "fixed in the source" if finding.fixable else "fixed by a setting"
    yield f"{finding.id} {finding.cause}, owner {finding.owner.value}, {remedy}"
    place = f"{finding.path} of {finding.call_site}"
    yield f"  at {place}, token {finding.token_offset}, slot {finding.slot_type}"
    yield (
        f"  gives back {finding.recoverable_tokens}, adds {finding.added_tokens}, "
        f"in {finding.requests} requests, confidence {finding.confidence}"
    )
    evidence = finding.evidence
    yield f"  seen in {evidence.request} against {evidence.compared_with}"
    for name, text in (("before", evidence.before), ("after", evidence.after), ("note", evidence.note)):
        if text:
            yield from _wrapped(f"  {name} {text!r}")
    for value in evidence.values:
        yield from _wrapped(f"  value {value!r}")
    yield from _wrapped(f"  fix: {finding.suggestion}")


def _row(row: RequestRow) -> str:
    tokens = row.tokens
    lost = f"diverged {tokens.diverged}, evicted {tokens.evicted}"
    place = f"leaves {row.baseline_request} at token {row.break_token}, {row.break_path}"
    return f"{row.id}: hit {tokens.hit} of {tokens.prompt}, {lost}; {place}; {', '.join(row.causes) or '-'}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)
