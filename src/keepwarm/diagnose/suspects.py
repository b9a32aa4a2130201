"""From suspected causes to findings: which are worth reporting, and what each gives back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from keepwarm.diagnose.accounts import Accounts
from keepwarm.diagnose.breaks import token_at
from keepwarm.diagnose.callsites import Site
from keepwarm.diagnose.findings import Finding
from keepwarm.diagnose.gains import Gain, Tokens, shared_gains
from keepwarm.diagnose.rules import CAUSES
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.diagnose.view import SiteView

# Less is not worth a change of source.
_WORTH_SHARE = 0.01  # of the site's prompt tokens
_WORTH_BLOCKS = 2
_HIDDEN_SHARE = 0.5  # of a gain that its repair alone does not reach
_HIDDEN = "won only together with the other findings of this call site"


class Proven(msgspec.Struct, frozen=True):
    """A finding, the requests it concerns, and what it wins and adds by request of its site that counts."""

    finding: Finding
    rows: tuple[int, ...]
    won: Tokens
    added: Tokens


class _Suspect(msgspec.Struct, frozen=True):
    rule: type[Rule]
    candidate: Candidate


def site_findings(accounts: Accounts, site: Site) -> Iterator[Proven]:
    """Findings of one call site that give back more than a sliver of its prompt tokens."""
    view = SiteView(accounts.traffic, site, accounts.lineage, accounts.measured)
    suspects = sorted(_suspects(view), key=lambda suspect: suspect.candidate.order)
    if not suspects:
        return
    lost_tokens = accounts.lost_tokens(site.rows)
    gains = shared_gains(view, [suspect.candidate for suspect in suspects])
    gains = _within(view, suspects, gains, lost_tokens)
    worth = [_is_worth(view, suspect, gain) for suspect, gain in zip(suspects, gains, strict=True)]
    reported = [
        (suspect, gain)
        for suspect, gain, is_worth in zip(suspects, gains, worth, strict=True)
        if is_worth or (suspect.candidate.keep_without_gain and not any(worth))
    ]
    # Once more: a suspect that is left out may be one that adds more than it wins.
    kept = [suspect for suspect, _ in reported]
    gains = _within(view, kept, [gain for _, gain in reported], lost_tokens)
    for suspect, gain in zip(kept, gains, strict=True):
        finding = _finding(view, suspect, gain)
        hidden = len(kept) > 1 and _HIDDEN_SHARE * gain.recoverable_tokens > gain.alone_tokens
        found = _with_note(finding, _HIDDEN) if hidden else finding
        yield Proven(found, suspect.candidate.rows, gain.won, gain.added)


def candidates_of(
    accounts: Accounts, site: Site, findings: Sequence[Finding]
) -> tuple[SiteView, tuple[Candidate, ...]]:
    """The candidates that ``findings`` of one call site came from, in their order, with what they look at.

    Works the site out again: a diagnosis keeps no candidates. Does not mutate.
    """
    view = SiteView(accounts.traffic, site, accounts.lineage, accounts.measured)
    by_place = {(suspect.rule.code, suspect.candidate.path): suspect.candidate for suspect in _suspects(view)}
    return view, tuple(by_place[finding.cause, finding.path] for finding in findings)


def _with_note(finding: Finding, note: str) -> Finding:
    notes = "; ".join(part for part in (finding.evidence.note, note) if part)
    evidence = msgspec.structs.replace(finding.evidence, note=notes)
    return msgspec.structs.replace(finding, evidence=evidence)


def _suspects(view: SiteView) -> Iterator[_Suspect]:
    for rule in CAUSES.values():
        for candidate in rule().candidates(view):
            yield _Suspect(rule, candidate)


def _is_worth(view: SiteView, suspect: _Suspect, gain: Gain) -> bool:
    """Whether a gain is worth a repair.

    Less than a block per request concerned is none: the text just falls on blocks more luckily.
    """
    counted = view.traffic.counted
    site_tokens = sum(view.measured.prompt[i] for i in counted(row.index for row in view.rows))
    blocks = max(_WORTH_BLOCKS, len(counted(suspect.candidate.rows)))
    least_tokens = max(_WORTH_SHARE * site_tokens, blocks * view.measured.block_size)
    return gain.recoverable_tokens >= least_tokens and gain.recoverable_tokens > gain.added_tokens


def _within(
    view: SiteView, suspects: Sequence[_Suspect], gains: Sequence[Gain], lost_tokens: int
) -> list[Gain]:
    """Gains cut down in proportion where they add up to more than was lost and is sent more.

    Less than a block per request concerned is not sent more: moved text just falls into other tokens.
    """
    total = sum(gain.recoverable_tokens for gain in gains)
    limit = lost_tokens + sum(
        gain.added_tokens
        for suspect, gain in zip(suspects, gains, strict=True)
        if gain.added_tokens >= len(view.traffic.counted(suspect.candidate.rows)) * view.measured.block_size
    )
    if total <= limit:
        return list(gains)
    return [
        replace(
            gain,
            recoverable_tokens=gain.recoverable_tokens * limit // total,
            won=gain.won * (limit / total),
        )
        for gain in gains
    ]


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
        requests=len(view.traffic.counted(candidate.rows)),
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
    anchor = candidate.anchor
    return token_at(view.traffic.prompt(anchor.row), anchor.path, anchor.char)
