"""Values out of a diagnosis: one rule, applied before anything is printed or written.

A varying value is shown by its kind and its length, ``‹time: 19 chars›``, and nothing else: no
digit shapes, no word lengths, no hash that could be looked up. White space alone tells nothing
about anybody and stays. The same values are covered wherever else a text of the diagnosis
repeats them, and so is stable text that looks like a secret.

Text around a break is shown where it belongs to the application: the first message (the system
text), tools, parameters. Later messages are somebody's conversation, stable or not, and covered.
Around one request's break only what a finding shows as well is shown: two requests may well
share a customer's name. Ids of requests and sessions, model names and JSON paths stay: they are
how the reader finds the record again.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from keepwarm.diagnose.findings import Diagnosis, Evidence, Finding, RequestRow
from keepwarm.diagnose.options import Options
from keepwarm.diagnose.report.secrets import cover_secrets
from keepwarm.trace.columns import Made

MASK = re.compile(r"‹[a-z\-]{1,32}: \d+ chars?›")
"""What ``mask`` writes."""

# Shorter values ("3", "no") occur in any text; they are covered where they stand as a value only.
_SHORTEST_REPEAT = 3
# Settings, not text: their values are shown with every request anyway.
_OPEN_PATHS = frozenset({"echo", "model", "prompt_logprobs"})
_CONVERSATION = re.compile(r"messages\[[1-9]")
_SHORTEST_STABLE = 8  # characters shared with known stable text that are no coincidence
_REMEMBERED = 65536  # requests of one call site break at the same few places
Scrub = Callable[[str], str]


class _Site(NamedTuple):
    """What the findings of a call site say: kind of slot per cause, pieces of stable text."""

    kinds: dict[str, str | None]
    pieces: set[str]


def mask(value: str, kind: str | None = None) -> str:
    """``value`` as ``‹kind: N chars›``; masks, white space and empty texts are returned as they are."""
    if not value.strip() or MASK.fullmatch(value):
        return value
    return f"‹{kind or 'text'}: {len(value)} {'char' if len(value) == 1 else 'chars'}›"


def masked(diagnosis: Diagnosis) -> Diagnosis:
    """A copy of ``diagnosis`` that shows no recorded value."""
    scrub = functools.lru_cache(_REMEMBERED)(scrubber(diagnosis.findings))
    skipped = tuple(
        msgspec.structs.replace(line, reason=scrub(line.reason)) for line in diagnosis.input.skipped
    )
    return msgspec.structs.replace(
        diagnosis,
        input=msgspec.structs.replace(diagnosis.input, skipped=skipped),
        call_sites=tuple(msgspec.structs.replace(s, name=scrub(s.name)) for s in diagnosis.call_sites),
        findings=tuple(_masked_finding(finding, scrub) for finding in diagnosis.findings),
        options=_masked_options(diagnosis.options),
        rows=_masked_rows(diagnosis, scrub),
    )


def _masked_options(options: Options) -> Options:
    """``options`` without the credentials that an address may hold; names and paths are the caller's own."""
    named = {"tokenizer": options.tokenizer, "chat_template": options.chat_template}
    return msgspec.structs.replace(
        options, **{key: without_secrets(name) for key, name in named.items() if name is not None}
    )


def scrubber(findings: Iterable[Finding], values: Mapping[str, str] = MappingProxyType({})) -> Scrub:
    """Covers all values of ``findings``, those of ``values`` by their kinds, and what looks like a secret."""
    kinds: dict[str, str | None] = {}
    for finding in findings:
        for value in () if finding.path in _OPEN_PATHS else finding.evidence.values:
            for text in (value, value.strip()):
                if len(text) >= _SHORTEST_REPEAT and text.strip() and not MASK.fullmatch(text):
                    kinds.setdefault(text, finding.slot_type)
    for value, kind in values.items():
        kinds.setdefault(value, kind)
    # Longest first, so that a value inside another does not leave the rest of it showing.
    known = sorted(kinds, key=lambda value: (-len(value), value))
    pattern = re.compile("|".join([MASK.pattern, *map(_bounded, known)]))

    def cover_value(match: re.Match[str]) -> str:
        return mask(match[0], kinds.get(match[0]))

    return lambda text: without_secrets(pattern.sub(cover_value, text))


def without_secrets(text: str) -> str:
    """``text`` with everything masked that looks like a secret."""
    return cover_secrets(text, lambda kind, secret: mask(secret, kind))


def _bounded(value: str) -> str:
    """A pattern for ``value``; a short one must not be a part of a longer word or number."""
    pattern = re.escape(value)
    if len(value) >= 6:
        return pattern
    return (r"(?<!\w)" if value[0].isalnum() else "") + pattern + (r"(?!\w)" if value[-1].isalnum() else "")


def _masked_finding(finding: Finding, scrub: Scrub) -> Finding:
    evidence = finding.evidence
    kept = finding.path in _OPEN_PATHS
    context = mask if is_conversation(finding.path) else scrub
    shown = Evidence(
        request=evidence.request,
        compared_with=evidence.compared_with,
        before=context(evidence.before),
        values=evidence.values
        if kept
        else tuple(mask(value, finding.slot_type) for value in evidence.values),
        after=context(evidence.after),
        note=scrub(evidence.note),
    )
    return msgspec.structs.replace(finding, evidence=shown, suggestion=scrub(finding.suggestion))


def is_conversation(path: str | None) -> bool:
    """Whether the text at a JSON path is somebody's conversation and not the application's own."""
    return path is not None and _CONVERSATION.match(path) is not None


def _masked_rows(diagnosis: Diagnosis, scrub: Scrub) -> Sequence[RequestRow]:
    sites: dict[str, _Site] = {}
    for finding in diagnosis.findings:
        site = sites.setdefault(finding.call_site, _Site({}, set()))
        site.kinds.setdefault(finding.cause, finding.slot_type)
        if not is_conversation(finding.path):
            site.pieces.update(_pieces(finding.evidence.before), _pieces(finding.evidence.after))
    nothing = _Site({}, set())

    @functools.lru_cache(_REMEMBERED)
    def context(call_site: str, causes: tuple[str, ...], text: str) -> str:
        site = sites.get(call_site, nothing)
        kind = next((site.kinds[cause] for cause in causes if cause in site.kinds), None)
        return scrub(_stable_part(text, site, kind))

    def masked_row(row: RequestRow) -> RequestRow:
        show = functools.partial(context, row.call_site, row.causes)
        before, here, there = map(show, (row.break_before, row.break_here, row.break_there))
        return msgspec.structs.replace(
            row,
            break_before=before,
            break_here=here,
            break_there=there,
            # The lengths of covered tokens would tell more than a mask does.
            break_before_tokens=row.break_before_tokens if before == row.break_before else (),
            break_here_tokens=row.break_here_tokens if here == row.break_here else (),
            break_there_tokens=row.break_there_tokens if there == row.break_there else (),
        )

    rows = diagnosis.rows
    shown = Made(len(rows), lambda index: masked_row(rows[index]))
    return tuple(shown) if isinstance(rows, tuple) else shown


def _stable_part(text: str, site: _Site, kind: str | None) -> str:
    """``text`` with everything masked but its longest stretch that the site's findings show too."""
    start, end, begin = 0, 0, 0
    for position in range(len(text) - _SHORTEST_STABLE + 1):
        if text[position : position + _SHORTEST_STABLE] not in site.pieces:
            begin = position + 1
        elif position + _SHORTEST_STABLE - begin > end - start:
            start, end = begin, position + _SHORTEST_STABLE
    if start == end:
        return mask(text)
    return mask(text[:start], kind) + text[start:end] + mask(text[end:], kind)


def _pieces(text: str) -> Iterable[str]:
    """Every stretch of ``text`` that is long enough to be no coincidence."""
    return (text[i : i + _SHORTEST_STABLE] for i in range(len(text) - _SHORTEST_STABLE + 1))
