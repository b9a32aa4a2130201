"""Values out of a diagnosis: one rule, applied before anything is printed or written.

A varying value is shown by its kind and its length, ``‹time: 19 chars›``, and nothing else: no
digit shapes, no word lengths, no hash that could be looked up. White space alone tells nothing
about anybody and stays. The same values are covered wherever else a text of the diagnosis
repeats them, and so is stable text that looks like a secret. Ids of requests and sessions,
model names and JSON paths stay: they are how the reader finds the record again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import msgspec

from keepwarm.diagnose.findings import CallSite, Diagnosis, Evidence, Finding, InputInfo, RequestRow
from keepwarm.diagnose.report.secrets import cover_secrets

_MASK = re.compile(r"‹[a-z\-]{1,32}: \d+ chars?›")
# Shorter values ("3", "no") occur in any text; they are covered where they stand as a value only.
_SHORTEST_REPEAT = 3
Scrub = Callable[[str], str]


def mask(value: str, kind: str | None = None) -> str:
    """``value`` as ``‹kind: N chars›``; masks, white space and empty texts are returned as they are."""
    if not value.strip() or _MASK.fullmatch(value):
        return value
    return f"‹{kind or 'text'}: {len(value)} {'char' if len(value) == 1 else 'chars'}›"


def masked(diagnosis: Diagnosis) -> Diagnosis:
    """A copy of ``diagnosis`` that shows no recorded value. Idempotent."""
    scrub = _scrubber(diagnosis.findings)
    kinds = {(f.call_site, f.cause): f.slot_type for f in diagnosis.findings}
    return msgspec.structs.replace(
        diagnosis,
        input=_masked_input(diagnosis.input, scrub),
        call_sites=tuple(_masked_site(site, scrub) for site in diagnosis.call_sites),
        findings=tuple(_masked_finding(finding, scrub) for finding in diagnosis.findings),
        rows=tuple(_masked_row(row, kinds, scrub) for row in diagnosis.rows),
    )


def _scrubber(findings: Iterable[Finding]) -> Scrub:
    """Covers every value of ``findings``, and everything that looks like a secret."""
    kinds: dict[str, str | None] = {}
    for finding in findings:
        for value in finding.evidence.values:
            for text in {value, value.strip()}:
                if len(text) >= _SHORTEST_REPEAT and text.strip() and not _MASK.fullmatch(text):
                    kinds.setdefault(text, finding.slot_type)
    # Longest first, so that a value inside another does not leave the rest of it showing.
    known = sorted(kinds, key=lambda value: (-len(value), value))
    values = re.compile("|".join([_MASK.pattern, *map(_bounded, known)]))

    def cover_value(match: re.Match[str]) -> str:
        return mask(match[0], kinds.get(match[0]))

    def scrub(text: str) -> str:
        return cover_secrets(values.sub(cover_value, text), lambda kind, secret: mask(secret, kind))

    return scrub


def _bounded(value: str) -> str:
    """A pattern for ``value``; a short one must not be a part of a longer word or number."""
    pattern = re.escape(value)
    if len(value) >= 6:
        return pattern
    return (r"(?<!\w)" if value[0].isalnum() else "") + pattern + (r"(?!\w)" if value[-1].isalnum() else "")


def _masked_input(info: InputInfo, scrub: Scrub) -> InputInfo:
    skipped = tuple(msgspec.structs.replace(line, reason=scrub(line.reason)) for line in info.skipped)
    return msgspec.structs.replace(info, skipped=skipped)


def _masked_site(site: CallSite, scrub: Scrub) -> CallSite:
    return msgspec.structs.replace(site, name=scrub(site.name))


def _masked_finding(finding: Finding, scrub: Scrub) -> Finding:
    evidence = finding.evidence
    shown = Evidence(
        request=evidence.request,
        compared_with=evidence.compared_with,
        before=scrub(evidence.before),
        values=tuple(mask(value, finding.slot_type) for value in evidence.values),
        after=scrub(evidence.after),
        note=scrub(evidence.note),
    )
    return msgspec.structs.replace(finding, evidence=shown, suggestion=scrub(finding.suggestion))


def _masked_row(row: RequestRow, kinds: dict[tuple[str, str], str | None], scrub: Scrub) -> RequestRow:
    kind = next(
        (kinds[row.call_site, cause] for cause in row.causes if (row.call_site, cause) in kinds), None
    )
    return msgspec.structs.replace(
        row,
        break_before=scrub(row.break_before),
        break_here=mask(row.break_here, kind),
        break_there=mask(row.break_there, kind),
    )
