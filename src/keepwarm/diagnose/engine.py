"""The diagnosis from a file to findings: read, encode, simulate, suspect, prove, report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from keepwarm._progress import Increments, Progress, Silent
from keepwarm.diagnose.accounts import Accounts, take_accounts
from keepwarm.diagnose.callsites import Site
from keepwarm.diagnose.encoders import encoding_info
from keepwarm.diagnose.fates import add_fates
from keepwarm.diagnose.findings import (
    CacheInfo,
    CallSite,
    Diagnosis,
    Finding,
    InputInfo,
    RequestRow,
)
from keepwarm.diagnose.options import Options
from keepwarm.diagnose.rules.expired import Expired
from keepwarm.diagnose.rules.routing import Routing
from keepwarm.diagnose.suspects import Proven, site_findings
from keepwarm.diagnose.traffic import Traffic
from keepwarm.trace.blocks import block_size_of
from keepwarm.trace.catalog import Catalog
from keepwarm.trace.encode import choose_encoder
from keepwarm.trace.open import Trace, open_trace

_CACHE_BYTES = 128 << 20  # half of what an encoder keeps alone: a diagnosis holds the trace beside it
_GAIN_IN_SIMULATED_HITS = frozenset({Routing.code, Expired.code})  # the simulation hits already


def diagnose(path: str, options: Options | None = None, progress: Progress | None = None) -> Diagnosis:
    """Diagnose a trace: which call site loses the cache, where, why, and what a fix would give back.

    Raises:
        InputError: the trace, the template or the tokenizer cannot be used; says what and where.
    """
    return examine(path, options, progress).diagnosis


class Examination(NamedTuple):
    """A diagnosis with what it rests on, for whoever goes on from a finding."""

    diagnosis: Diagnosis
    accounts: Accounts


def examine(path: str, options: Options | None = None, progress: Progress | None = None) -> Examination:
    """``diagnose``, with the trace as it was accounted for. Raises as ``diagnose`` does."""
    options = options or Options()
    heard = progress or Silent()
    trace = open_trace(path, options.format)
    accounts = take_accounts(_read(trace, options, heard), options.ttl_s, heard)
    heard.stage("diagnosing", len(accounts.sites))
    proven: list[Proven] = []
    for site in accounts.sites:
        proven += site_findings(accounts, site)
        heard.advance()
    return Examination(_assemble(trace, options, accounts, proven), accounts)


def _read(trace: Trace, options: Options, progress: Progress) -> Traffic:
    progress.stage("reading", trace.size_bytes)
    requests = trace.requests(Increments(progress))
    first = next(requests, None)
    encoder = choose_encoder(
        trace.path,
        first,
        tokenizer=options.tokenizer,
        chat_template=options.chat_template,
        cache_bytes=_CACHE_BYTES,
    )
    block_size = block_size_of(first, options.block_size)
    traffic = Traffic(Catalog(), encoder, block_size=block_size, capacity_blocks=options.capacity_blocks)
    if first is not None:
        traffic.add(first)
    for request in requests:
        traffic.add(request)
    return traffic


def _assemble(trace: Trace, options: Options, accounts: Accounts, proven: Sequence[Proven]) -> Diagnosis:
    ranked = sorted(
        proven, key=lambda p: (-p.finding.recoverable_tokens, p.finding.call_site, p.finding.cause)
    )
    findings = [msgspec.structs.replace(p.finding, id=f"F{n}") for n, p in enumerate(ranked, 1)]
    causes: dict[int, list[str]] = {}
    for item in ranked:
        for index in item.rows:
            causes.setdefault(index, []).append(item.finding.cause)
    traffic = accounts.traffic
    totals = add_fates(accounts.fates)
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
        encoding=encoding_info(trace, traffic),
        tokens=totals,
        hit_rate=_rate(totals.hit, totals.prompt),
        hit_rate_if_fixed=rate_if_fixed(totals.hit, totals.prompt, findings),
        call_sites=tuple(_call_site(accounts, site) for site in accounts.sites),
        findings=tuple(findings),
        options=options,
        rows=tuple(_rows(accounts, causes)),
    )


def _rate(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0


def rate_if_fixed(hit: int, prompt: int, findings: Sequence[Finding]) -> float:
    """The simulated hit rate with all of ``findings`` fixed, from the ``hit`` of ``prompt`` tokens now."""
    simulated = [finding for finding in findings if finding.cause not in _GAIN_IN_SIMULATED_HITS]
    won = sum(finding.recoverable_tokens for finding in simulated)
    added = sum(finding.added_tokens for finding in simulated)
    return _rate(min(hit + won, prompt + added), prompt + added)


def _call_site(accounts: Accounts, site: Site) -> CallSite:
    total = add_fates([accounts.fates[i] for i in site.rows])
    return CallSite(
        id=site.id,
        name=site.name,
        requests=len(site.rows),
        sessions=len({accounts.lineage.sessions[i] for i in site.rows}),
        hit_rate=_rate(total.hit, total.prompt),
        lost_tokens=accounts.lost_tokens(site.rows),
        prompt_tokens=total.prompt,
    )


def _rows(accounts: Accounts, causes: dict[int, list[str]]) -> Iterator[RequestRow]:
    rows = accounts.traffic.catalog.rows
    for row, fates, found in zip(rows, accounts.fates, accounts.breaks, strict=True):
        baseline = found.baseline if found else accounts.measured.shared[row.index].request_index
        yield RequestRow(
            index=row.index,
            line=row.line,
            id=row.id,
            session=accounts.lineage.sessions[row.index],
            call_site=accounts.sites[accounts.site_of[row.index]].id,
            model=row.model,
            time_s=row.time_s,
            tokens=fates,
            cached_tokens=row.usage.cached_tokens,
            baseline_request=rows[baseline].id if baseline >= 0 else None,
            break_token=found.token if found else None,
            break_path=found.path if found else None,
            break_before=found.before.text if found else "",
            break_here=found.here.text if found else "",
            break_there=found.there.text if found else "",
            break_before_tokens=found.before.token_chars if found else (),
            break_here_tokens=found.here.token_chars if found else (),
            break_there_tokens=found.there.token_chars if found else (),
            break_byte=found.byte if found else None,
            causes=tuple(dict.fromkeys(causes.get(row.index, ()))),
        )
