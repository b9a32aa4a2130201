"""A diagnosis as a baseline: the marks of its call sites and findings, and what its rates depend on."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from keepwarm._errors import TemplateError, TokenizerError
from keepwarm.diagnose.accounts import Accounts
from keepwarm.diagnose.callsites import Site
from keepwarm.diagnose.engine import Examination
from keepwarm.diagnose.findings import CallSite, Diagnosis, Finding
from keepwarm.gate.baseline import Baseline, FindingMark, Setup, SiteMark
from keepwarm.gate.sketches import text_sketch, tools_sketch
from keepwarm.trace.encode import PromptEncoder
from keepwarm.trace.records import JsonObject, Request

_KEY_CHARS = 12
_TOOL: JsonObject = {
    "type": "function",
    "function": {
        "name": "find_order",
        "description": "Finds an order.",
        "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}},
    },
}
_CALL: JsonObject = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "find_order", "arguments": '{"number": 1734}'},
}
_CONVERSATIONS: tuple[tuple[list[JsonObject], list[JsonObject]], ...] = (
    (
        [
            {"role": "system", "content": "You answer questions about orders, briefly."},
            {"role": "user", "content": "Where is order 1734? Überfällig seit 3 Tagen…"},
            {"role": "assistant", "content": None, "tool_calls": [_CALL]},
            {"role": "tool", "tool_call_id": "call_1", "content": '{"state": "sent", "days": 3}'},
            {"role": "user", "content": "def thanks():\n    return 'merci'"},
        ],
        [_TOOL],
    ),
    ([{"role": "user", "content": "Where is order 1734? Überfällig seit 3 Tagen…"}], []),
)


class Taken(NamedTuple):
    """A baseline with the finding behind each of its marks, by the ids of the diagnosis."""

    baseline: Baseline
    keys: Mapping[str, str]  # call site id to key
    marks: Mapping[str, FindingMark]  # finding id to mark


def take(examination: Examination, ttl_s: float | None) -> Taken:
    """The baseline of what was just examined. Does not mutate."""
    diagnosis, accounts = examination.diagnosis, examination.accounts
    by_id = {site.id: site for site in diagnosis.call_sites}
    sites = [_site_mark(accounts, site, by_id[site.id]) for site in accounts.sites]
    keys = _distinct({site.id: mark.key for site, mark in zip(accounts.sites, sites, strict=True)})
    marks = {finding.id: _finding_mark(finding, keys) for finding in diagnosis.findings}
    return Taken(
        _sorted(
            Baseline(
                setup=_setup(diagnosis, accounts.traffic.encoder, ttl_s),
                requests=diagnosis.input.requests,
                prompt_tokens=diagnosis.tokens.prompt,
                hit_tokens=diagnosis.tokens.hit,
                hit_rate=diagnosis.hit_rate,
                call_sites=tuple(
                    msgspec.structs.replace(mark, key=keys[site.id])
                    for site, mark in zip(accounts.sites, sites, strict=True)
                ),
                findings=tuple(marks.values()),
            )
        ),
        keys,
        marks,
    )


def rekeyed(taken: Taken, keys: Mapping[str, str]) -> Taken:
    """``taken`` with other keys for some call sites: those under which an earlier baseline knows them."""
    taken_by_others = set(keys.values())
    new = {key: keys.get(key, key) for key in taken.keys.values()}
    for key in [key for key in new if key not in keys and key in taken_by_others]:
        new[key] = _free(key, set(new.values()))
    baseline = taken.baseline
    sites = tuple(msgspec.structs.replace(site, key=new[site.key]) for site in baseline.call_sites)
    marks = {
        finding: msgspec.structs.replace(mark, call_site=new[mark.call_site])
        for finding, mark in taken.marks.items()
    }
    changed = msgspec.structs.replace(baseline, call_sites=sites, findings=tuple(marks.values()))
    return Taken(_sorted(changed), {site: new[key] for site, key in taken.keys.items()}, marks)


def _site_mark(accounts: Accounts, site: Site, shown: CallSite) -> SiteMark:
    catalog = accounts.traffic.catalog
    tools, text = tools_sketch(catalog, site), text_sketch(catalog, site)
    name = catalog.rows[site.rows[0]].call_site
    digest = hashlib.sha256(msgspec.json.encode((name, tools, text))).hexdigest()
    return SiteMark(
        key=digest[:_KEY_CHARS],
        name=name,
        tools=tools,
        text=text,
        requests=shown.requests,
        prompt_tokens=shown.prompt_tokens,
        hit_tokens=sum(accounts.fates[index].hit for index in site.rows),
        hit_rate=shown.hit_rate,
    )


def _distinct(keys: Mapping[str, str]) -> dict[str, str]:
    """Call sites that look the same, say two without any text, are numbered in order of first use."""
    seen: Counter[str] = Counter()
    out = {}
    for site, key in keys.items():
        seen[key] += 1
        out[site] = key if seen[key] == 1 else f"{key}-{seen[key]}"
    return out


def _free(key: str, used: set[str]) -> str:
    number = 2
    while f"{key}-{number}" in used:
        number += 1
    return f"{key}-{number}"


def _finding_mark(finding: Finding, keys: Mapping[str, str]) -> FindingMark:
    return FindingMark(
        call_site=keys[finding.call_site],
        cause=finding.cause,
        path=finding.path,
        recoverable_tokens=finding.recoverable_tokens,
    )


def _sorted(baseline: Baseline) -> Baseline:
    return msgspec.structs.replace(
        baseline,
        call_sites=tuple(sorted(baseline.call_sites, key=lambda site: site.key)),
        findings=tuple(sorted(baseline.findings, key=lambda f: (f.call_site, f.cause, f.path or ""))),
    )


def _setup(diagnosis: Diagnosis, encoder: PromptEncoder, ttl_s: float | None) -> Setup:
    encoding, cache = diagnosis.encoding, diagnosis.cache
    return Setup(
        tokenizer=_without_folder(encoding.tokenizer),
        chat_template=_without_folder(encoding.chat_template),
        encoding_sha256=None if encoding.tokenizer == "none" else _fingerprint(encoder),
        block_size=cache.block_size,
        capacity_blocks=cache.capacity_blocks,
        ttl_s=ttl_s,
    )


def _without_folder(name: str) -> str:
    """A tokenizer's folder lies elsewhere on another machine; a name or an address means the same there."""
    return Path(name).name if Path(name).exists() else name


def _fingerprint(encoder: PromptEncoder) -> str | None:
    """A digest of the token ids of conversations that never change, at a time that never does."""
    digest = hashlib.sha256()
    refused = 0
    for messages, tools in _CONVERSATIONS:
        try:
            ids = encoder.ids(Request(line=1, id="fixed", time_s=0.0, messages=messages, tools=tools))
        except TemplateError:
            refused += 1
            continue
        except TokenizerError:  # a server that went away after the last prompt
            return None
        digest.update(ids.tobytes())
        digest.update(b"|")
    return None if refused == len(_CONVERSATIONS) else digest.hexdigest()
