"""The diagnosis from a file to findings: read, encode, simulate, suspect, prove, report."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from keepwarm._progress import Increments, Progress, Silent
from keepwarm._resources import Resources
from keepwarm._spill import run_folder
from keepwarm.diagnose.accounts import Accounts, take_accounts
from keepwarm.diagnose.budget import Budget, run_key
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
from keepwarm.diagnose.sample import Sampler
from keepwarm.diagnose.sample_estimate import scaled_up
from keepwarm.diagnose.suspects import Proven, site_findings
from keepwarm.diagnose.traffic import Traffic
from keepwarm.trace.blocks import block_size_of, check_tokens
from keepwarm.trace.catalog import Catalog
from keepwarm.trace.columns import Made, Stores
from keepwarm.trace.encode import choose_encoder
from keepwarm.trace.open import Trace, open_trace
from keepwarm.trace.records import Request

_CACHE_BYTES = 128 << 20  # half of what an encoder keeps alone: a diagnosis holds the trace beside it
_GAIN_IN_SIMULATED_HITS = frozenset({Routing.code, Expired.code})  # the simulation hits already


def diagnose(
    path: str | os.PathLike[str],
    options: Options | None = None,
    progress: Progress | None = None,
    *,
    resources: Resources | None = None,
    on_resume: Callable[[Path], None] = lambda _: None,
) -> Diagnosis:
    """Diagnose a trace: which call site loses the cache, where, why, and what a fix would give back.

    With a budget of memory in ``resources`` what does not fit is spilled; the ``rows`` of the answer are in
    memory in any case. ``on_resume`` is told the folder of an earlier run that was interrupted.

    Raises:
        InputError: the trace, the template or the tokenizer cannot be used, or the budget cannot be kept;
            says what and where.
        Interrupted: Ctrl-C within a budget; what was done is kept.
    """
    with examining(path, options, progress, resources=resources, on_resume=on_resume) as examination:
        found = examination.diagnosis
        return msgspec.structs.replace(found, rows=tuple(found.rows))


class Examination(NamedTuple):
    """A diagnosis with what it rests on, for whoever goes on from a finding."""

    diagnosis: Diagnosis
    accounts: Accounts


def examine(path: str, options: Options | None = None, progress: Progress | None = None) -> Examination:
    """``diagnose``, with the trace as it was accounted for. Raises as ``diagnose`` does."""
    options = options or Options()
    return examine_trace(open_trace(path, options.format), options, Stores(), progress or Silent())


@contextlib.contextmanager
def examining(
    path: str | os.PathLike[str],
    options: Options | None = None,
    progress: Progress | None = None,
    *,
    resources: Resources | None = None,
    on_resume: Callable[[Path], None] = lambda _: None,
) -> Iterator[Examination]:
    """``examine`` within ``resources``: the examination serves within the block only.

    ``on_resume`` is told the folder of an earlier run that was interrupted. Raises what ``diagnose`` does.
    """
    options, heard = options or Options(), progress or Silent()
    trace = open_trace(path, options.format)
    if resources is None or resources.memory_bytes is None:
        yield examine_trace(trace, options, Stores(), heard)
        return
    with run_folder(resources, run_key(trace, options)) as folder:
        if folder.found:
            on_resume(folder.path)
        budget = Budget(resources.memory_bytes, folder, heard)
        examination = examine_trace(trace, options, budget.stores, budget)
        folder.has_answer = True
        yield examination


def examine_trace(trace: Trace, options: Options, stores: Stores, heard: Progress) -> Examination:
    """``examine``, with what is kept of the trace in ``stores``. Raises OSError, too: no room on disk."""
    accounts = take_accounts(_read(trace, options, stores, heard), options.ttl_s, heard)
    heard.stage("diagnosing", len(accounts.sites))
    proven: list[Proven] = []
    for site in accounts.sites:
        proven += site_findings(accounts, site)
        heard.advance()
    return Examination(_assemble(trace, options, accounts, proven), accounts)


def _read(trace: Trace, options: Options, stores: Stores, progress: Progress) -> Traffic:
    sampler = None if options.sample is None else Sampler(trace, options.sample)
    if sampler is not None:
        progress.stage("sampling", trace.size_bytes)
        sampler.pick(Increments(progress))
    progress.stage("reading", trace.size_bytes)
    heard = Increments(progress)
    requests = _checked(trace, trace.requests(heard) if sampler is None else sampler.requests(heard))
    first = next(requests, None)
    encoder = choose_encoder(
        trace.path,
        first,
        tokenizer=options.tokenizer,
        chat_template=options.chat_template,
        cache_bytes=stores.encoder_bytes or _CACHE_BYTES,
    )
    block_size = block_size_of(first, options.block_size)
    traffic = Traffic(
        Catalog(stores=stores),
        encoder,
        block_size=block_size,
        capacity_blocks=options.capacity_blocks,
        stores=stores,
    )
    if first is not None:
        traffic.add(first)
    for request in requests:
        traffic.add(request)
    traffic.sample = None if sampler is None else sampler.result()
    return traffic


def _checked(trace: Trace, requests: Iterable[Request]) -> Iterator[Request]:
    for request in requests:
        check_tokens(repr(str(trace.path)), request)
        yield request


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
    totals = add_fates(accounts.fates[i] for i in traffic.counted(range(len(traffic.catalog))))
    found = Diagnosis(
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
        call_sites=tuple(_call_site(accounts, site) for site in accounts.sites if traffic.counted(site.rows)),
        findings=tuple(findings),
        options=options,
        rows=_rows(accounts, causes),
    )
    return scaled_up(found, accounts, ranked, in_hits=_GAIN_IN_SIMULATED_HITS)


def _rate(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0


def rate_if_fixed(hit: int, prompt: int, findings: Sequence[Finding]) -> float:
    """The simulated hit rate with all of ``findings`` fixed, from the ``hit`` of ``prompt`` tokens now."""
    simulated = [finding for finding in findings if finding.cause not in _GAIN_IN_SIMULATED_HITS]
    won = sum(finding.recoverable_tokens for finding in simulated)
    added = sum(finding.added_tokens for finding in simulated)
    return _rate(min(hit + won, prompt + added), prompt + added)


def _call_site(accounts: Accounts, site: Site) -> CallSite:
    rows = accounts.traffic.counted(site.rows)
    total = add_fates(accounts.fates[i] for i in rows)
    return CallSite(
        id=site.id,
        name=site.name,
        requests=len(rows),
        sessions=len({accounts.lineage.sessions[i] for i in rows}),
        hit_rate=_rate(total.hit, total.prompt),
        lost_tokens=accounts.lost_tokens(rows),
        prompt_tokens=total.prompt,
    )


def _rows(accounts: Accounts, causes: dict[int, list[str]]) -> Sequence[RequestRow]:
    rows = accounts.traffic.catalog.rows
    sample = accounts.traffic.sample

    def made(index: int) -> RequestRow:
        row, found = rows[index], accounts.breaks[index]
        baseline = found.baseline if found else accounts.measured.shared[index].request_index
        return RequestRow(
            index=index,
            line=row.line,
            id=row.id,
            session=accounts.lineage.sessions[row.index],
            call_site=accounts.sites[accounts.site_of[row.index]].id,
            model=row.model,
            time_s=row.time_s,
            tokens=accounts.fates[index],
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
            counted=sample is None or sample.is_counted(row.index),
        )

    return Made(len(rows), made)
