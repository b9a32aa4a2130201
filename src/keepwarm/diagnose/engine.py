"""The diagnosis from a file to findings: read, encode, simulate, suspect, prove, report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from keepwarm.diagnose.breaks import Break, find_break, token_at
from keepwarm.diagnose.callsites import Site, find_sites
from keepwarm.diagnose.fates import add_fates, token_fates
from keepwarm.diagnose.findings import (
    CacheInfo,
    CallSite,
    Diagnosis,
    EncodingInfo,
    Finding,
    InputInfo,
    RequestRow,
    TokenFates,
)
from keepwarm.diagnose.gains import Gain, shared_gains
from keepwarm.diagnose.measured import Measured, measure
from keepwarm.diagnose.options import Options, Progress
from keepwarm.diagnose.rules import CAUSES
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.diagnose.sessions import Lineage, trace_lineage
from keepwarm.diagnose.traffic import Traffic
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.catalog import Catalog
from keepwarm.trace.encode import PromptEncoder
from keepwarm.trace.open import Trace, open_trace
from keepwarm.trace.records import Request

_DEFAULT_BLOCK_SIZE = 16
_WORTH_SHARE = 0.01
_WORTH_BLOCKS = 2


class _Suspect(msgspec.Struct, frozen=True):
    rule: type[Rule]
    candidate: Candidate


def diagnose(path: str, options: Options | None = None, progress: Progress | None = None) -> Diagnosis:
    """Diagnose a trace: which call site loses the cache, where, why, and what a fix would give back.

    Raises:
        InputError: the trace, the template or the tokenizer cannot be used; says what and where.
    """
    options = options or Options()
    heard = progress or _Silent()
    trace = open_trace(path, options.format)
    traffic = _read(trace, options, heard)
    heard.stage("simulating", None)
    sites, numbers = find_sites(traffic.catalog)
    lineage = trace_lineage(traffic.catalog, numbers)
    measured = measure(traffic, options.ttl_s)
    fates = token_fates(traffic, measured, lineage, numbers)
    heard.stage("diagnosing", len(sites))
    found: list[tuple[Finding, tuple[int, ...]]] = []
    for site in sites:
        found += _site_findings(SiteView(traffic, site, lineage, measured), fates)
        heard.advance()
    return _assemble(trace, traffic, sites, numbers, lineage, measured, fates, found)


def _read(trace: Trace, options: Options, progress: Progress) -> Traffic:
    progress.stage("reading", trace.size_bytes)
    requests = trace.requests(_Increments(progress))
    first = next(requests, None)
    encoder = _encoder(trace, options, first)
    block_size = options.block_size or _recorded_block_size(first) or _DEFAULT_BLOCK_SIZE
    traffic = Traffic(Catalog(), encoder, block_size=block_size, capacity_blocks=options.capacity_blocks)
    if first is not None:
        traffic.add(first)
    for request in requests:
        traffic.add(request)
    return traffic


def _recorded_block_size(first: Request | None) -> int | None:
    if first is None:
        return None
    return first.hashed.block_size if first.hashed is not None else first.block_size


def _encoder(trace: Trace, options: Options, first: Request | None) -> PromptEncoder:
    from keepwarm.trace.render import builtin_renderer, load_renderer
    from keepwarm.trace.tokens import load_tokenizer

    tokenizer = load_tokenizer(options.tokenizer)
    template = options.chat_template
    if template is None and first is not None and first.chat_template is not None:
        beside = Path(trace.path).parent / Path(first.chat_template).name
        template = str(beside) if beside.is_file() else None
    if template is not None:
        renderer = load_renderer(template)
    elif options.tokenizer is not None and Path(options.tokenizer).is_dir():
        renderer = load_renderer(options.tokenizer)
    else:
        renderer = builtin_renderer()
    return PromptEncoder(renderer, tokenizer)


def _site_findings(view: SiteView, fates: Sequence[TokenFates]) -> Iterator[tuple[Finding, tuple[int, ...]]]:
    measured = view.measured
    suspects = sorted(_suspects(view), key=lambda suspect: suspect.candidate.order)
    if not suspects:
        return
    rows = [row.index for row in view.rows]
    prompt = sum(measured.prompt[i] for i in rows)
    lost = sum(_lost(measured, fates[i], i) for i in rows)
    gains = _within(shared_gains(view, [suspect.candidate for suspect in suspects]), lost)
    floor = max(_WORTH_BLOCKS * measured.block_size, _WORTH_SHARE * prompt)
    worth = [gain.recoverable_tokens - gain.added_tokens >= floor for gain in gains]
    for suspect, gain, is_worth in zip(suspects, gains, worth, strict=True):
        if is_worth or (suspect.candidate.keep_without_gain and not any(worth)):
            yield _finding(view, suspect, gain), suspect.candidate.rows


def _suspects(view: SiteView) -> Iterator[_Suspect]:
    for rule in CAUSES.values():
        for candidate in rule().candidates(view):
            yield _Suspect(rule, candidate)


def _lost(measured: Measured, fates: TokenFates, index: int) -> int:
    return fates.diverged + fates.evicted + measured.shortfall[index]


def _within(gains: Sequence[Gain], lost: int) -> list[Gain]:
    """Gains cut down in proportion where they add up to more than was lost and is added."""
    total = sum(gain.recoverable_tokens for gain in gains)
    limit = lost + sum(gain.added_tokens for gain in gains)
    if total <= limit:
        return list(gains)
    return [Gain(gain.recoverable_tokens * limit // total, gain.added_tokens) for gain in gains]


def _finding(view: SiteView, suspect: _Suspect, gain: Gain) -> Finding:
    rule, candidate = suspect.rule, suspect.candidate
    return Finding(
        id="",
        cause=rule.code,
        owner=rule.owner,
        fixable=rule.fixable(),
        call_site=view.site.id,
        path=candidate.path,
        token_offset=_offset(view, candidate),
        requests=len(candidate.rows),
        recoverable_tokens=gain.recoverable_tokens,
        added_tokens=gain.added_tokens,
        confidence=round(candidate.confidence, 2),
        evidence=candidate.evidence,
        suggestion=rule.suggestion,
        slot_type=candidate.slot_type,
    )


def _offset(view: SiteView, candidate: Candidate) -> int | None:
    if candidate.token_offset is not None or candidate.anchor is None:
        return candidate.token_offset
    row, path, char = candidate.anchor
    return token_at(view.traffic.prompt(row), path, char)


def _assemble(
    trace: Trace,
    traffic: Traffic,
    sites: Sequence[Site],
    numbers: Sequence[int],
    lineage: Lineage,
    measured: Measured,
    fates: Sequence[TokenFates],
    found: Sequence[tuple[Finding, tuple[int, ...]]],
) -> Diagnosis:
    ranked = sorted(found, key=lambda item: (-item[0].recoverable_tokens, item[0].call_site, item[0].cause))
    findings = []
    causes: dict[int, list[str]] = {}
    for number, (finding, rows) in enumerate(ranked, 1):
        findings.append(msgspec.structs.replace(finding, id=f"F{number}"))
        for index in rows:
            causes.setdefault(index, []).append(finding.cause)
    totals = add_fates(fates)
    simulated = [finding for finding in findings if finding.cause not in _UNSIMULATED]
    hit_if_fixed = totals.hit + sum(finding.recoverable_tokens for finding in simulated)
    prompt_if_fixed = totals.prompt + sum(finding.added_tokens for finding in simulated)
    info = traffic.encoder.info
    return Diagnosis(
        input=InputInfo(
            path=str(trace.path),
            sha256=trace.sha256,
            format=trace.format,
            requests=len(traffic.catalog),
            skipped=tuple(trace.skipped),
            prompt_texts_known=trace.prompt_texts_known,
            prompt_complete=trace.prompt_complete,
        ),
        cache=CacheInfo(block_size=traffic.block_size, capacity_blocks=traffic.capacity_blocks),
        encoding=EncodingInfo(
            tokenizer=info.tokenizer, chat_template=info.chat_template, exact=info.exact, note=info.note
        ),
        tokens=totals,
        hit_rate=_rate(totals.hit, totals.prompt),
        hit_rate_if_fixed=_rate(hit_if_fixed, prompt_if_fixed),
        call_sites=tuple(_call_site(site, lineage, measured, fates) for site in sites),
        findings=tuple(findings),
        rows=tuple(_rows(traffic, sites, numbers, lineage, measured, fates, causes)),
    )


_UNSIMULATED = frozenset({"routing", "expired"})  # their gain is already in the simulated hits


def _rate(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0


def _call_site(site: Site, lineage: Lineage, measured: Measured, fates: Sequence[TokenFates]) -> CallSite:
    total = add_fates([fates[i] for i in site.rows])
    return CallSite(
        id=site.id,
        name=site.name,
        requests=len(site.rows),
        sessions=len({lineage.sessions[i] for i in site.rows}),
        hit_rate=_rate(total.hit, total.prompt),
        lost_tokens=sum(_lost(measured, fates[i], i) for i in site.rows),
        prompt_tokens=total.prompt,
    )


def _rows(
    traffic: Traffic,
    sites: Sequence[Site],
    numbers: Sequence[int],
    lineage: Lineage,
    measured: Measured,
    fates: Sequence[TokenFates],
    causes: dict[int, list[str]],
) -> Iterator[RequestRow]:
    for row in traffic.catalog.rows:
        i = row.index
        shared = measured.shared[i]
        found = find_break(traffic, i, shared, lineage.parents[i])
        baseline = found.baseline if found else shared.request_index
        empty = Break(baseline, 0, None, "", "", "")
        text = found or empty
        yield RequestRow(
            index=i,
            line=row.line,
            id=row.id,
            session=lineage.sessions[i],
            call_site=sites[numbers[i]].id,
            model=row.model,
            time_s=row.time_s,
            tokens=fates[i],
            cached_tokens=row.usage.cached_tokens,
            baseline_request=traffic.catalog.rows[baseline].id if baseline >= 0 else None,
            break_token=found.token if found else None,
            break_path=text.path,
            break_before=text.before,
            break_here=text.here,
            break_there=text.there,
            causes=tuple(dict.fromkeys(causes.get(i, ()))),
        )


class _Increments:
    """Turns a position that only rises into steps."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._at = 0

    def __call__(self, position: int) -> None:
        self._progress.advance(position - self._at)
        self._at = position


class _Silent:
    def stage(self, name: str, total: int | None) -> None:
        """Nobody listens."""

    def advance(self, n: int = 1) -> None:
        """Nobody listens."""
