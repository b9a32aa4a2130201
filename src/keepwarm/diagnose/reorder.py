"""Prompts of one call site laid out otherwise, and what the simulated cache makes of them.

Fixes of findings and moves of slots are taken together. All of it is simulated, under the cache of the
diagnosis: same block size, same capacity. The answer depends on nothing but the trace and the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from keepwarm._errors import InputError
from keepwarm._progress import Progress, Silent
from keepwarm.cache.replay import ReplayRow
from keepwarm.diagnose.engine import Examination
from keepwarm.diagnose.findings import Finding
from keepwarm.diagnose.gains import laid_out
from keepwarm.diagnose.reorder_moves import Move, moving, without_moved
from keepwarm.diagnose.rules import CAUSES
from keepwarm.diagnose.rules.base import Candidate
from keepwarm.diagnose.suspects import candidates_of
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.blocks import Encoded

_SITES_KEPT = 4  # what is known of a call site beyond the trace: its slots, its suspects


class ReorderCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to simulate at one call site: fixes of findings, moves of slots, or both."""

    call_site: str
    findings: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """Simulated."""

    prompt_tokens: int
    hit_tokens: int
    hit_rate: float


class ReorderResult(msgspec.Struct, frozen=True, kw_only=True):
    """The same requests, as recorded and as laid out anew: at the call site, and in the whole trace."""

    call_site_before: Tally
    call_site_after: Tally
    trace_before: Tally
    trace_after: Tally
    changed_requests: int


class Relaid(NamedTuple):
    """Requests laid out anew, by catalog index: block hashes of those that changed.

    ``reading`` are rows whose fix is that they look up the cache; give both to ``Traffic.replay``.
    """

    changed: Mapping[int, Encoded]
    reading: frozenset[int]


class _Known(NamedTuple):
    """A call site worked out: what its findings came from, by finding id."""

    view: SiteView
    candidates: dict[str, Candidate]


class Resimulator:
    """One examined trace, asked as often as one likes. What was worked out of a call site is kept."""

    def __init__(self, examination: Examination) -> None:
        self._accounts = examination.accounts
        self._findings = examination.diagnosis.findings
        self._known: dict[str, _Known] = {}

    def relaid(self, site: str, findings: Sequence[str] = (), moves: Sequence[Move] = ()) -> Relaid:
        """The requests of ``site`` that fixes of its ``findings`` and ``moves`` of its slots change.

        A finding that no change of requests removes (``eviction``, say) changes nothing. A slot that is moved
        goes where it is moved to, whatever a fix would do with it.

        Raises:
            InputError: no such call site, finding of it, or slot of it; or a slot cannot go there.
        """
        view, candidates = self._site(site)
        wanted = [candidates[finding] for finding in self._ordered(site, findings)]
        moved = moving(view, moves)
        picked = [without_moved(candidate, moved) for candidate in wanted]
        reading = frozenset(index for candidate in picked for index in candidate.reading)
        return Relaid(laid_out(view, picked, [move.fix for move in moved]), reading)

    def removable(self, site: str) -> tuple[str, ...]:
        """Ids of the findings of ``site`` that a change of requests removes, as the diagnosis lists them.

        Raises InputError: no such call site.
        """
        candidates = self._site(site).candidates
        return tuple(
            finding for finding, found in candidates.items() if found.fixes or found.grow or found.reading
        )

    def resimulate(self, call: ReorderCall, progress: Progress | None = None) -> ReorderResult:
        """What the simulated cache makes of ``call``.

        Raises:
            InputError: as ``relaid`` does; or the call holds nothing that can be simulated.
        """
        heard = progress or Silent()
        self._check(call)
        heard.stage("laying out", None)
        changed, reading = self.relaid(call.call_site, call.findings, call.moves)
        heard.stage("simulating", None)
        replayed = self._accounts.traffic.replay(changed, reading=reading)
        measured = self._accounts.measured
        before = [ReplayRow(*counts) for counts in zip(measured.prompt, measured.hit, strict=True)]
        rows = [row.index for row in self._site(call.call_site).view.rows]
        return ReorderResult(
            call_site_before=_tally(before[i] for i in rows),
            call_site_after=_tally(replayed[i] for i in rows),
            trace_before=_tally(before),
            trace_after=_tally(replayed),
            changed_requests=len(changed.keys() | reading),
        )

    def _check(self, call: ReorderCall) -> None:
        """Raises InputError for a call of which some part cannot be simulated."""
        removable = self.removable(call.call_site)
        if not call.findings and not call.moves:
            raise InputError(
                "the call names no finding and no move, so nothing changes; name what to simulate"
            )
        for finding in self._ordered(call.call_site, call.findings):
            if finding not in removable:
                raise InputError(
                    f"finding {finding!r} is not removed by a change of prompts, so none is simulated; "
                    "leave it out"
                )

    def _ordered(self, site: str, ids: Sequence[str]) -> list[str]:
        """``ids`` once each, as the diagnosis sets their fixes one after another. Raises InputError."""
        candidates = self._site(site).candidates
        for finding in ids:
            if finding not in candidates:
                raise InputError(f"no finding {finding!r} at call site {site!r}; {_known(candidates)}")
        causes = {finding.id: finding.cause for finding in self._findings}
        ranks = {code: rank for rank, code in enumerate(CAUSES)}
        return sorted(set(ids), key=lambda each: (candidates[each].order, ranks[causes[each]], each))

    def _site(self, id: str) -> _Known:  # noqa: A002 - as the diagnosis calls it
        if id not in self._known:
            site = next((site for site in self._accounts.sites if site.id == id), None)
            if site is None:
                raise InputError(f"no call site {id!r}; {_known([s.id for s in self._accounts.sites])}")
            findings: list[Finding] = [finding for finding in self._findings if finding.call_site == id]
            view, candidates = candidates_of(self._accounts, site, findings)
            named = {finding.id: found for finding, found in zip(findings, candidates, strict=True)}
            self._known[id] = _Known(view, named)
            while len(self._known) > _SITES_KEPT:
                del self._known[next(iter(self._known))]
        return self._known[id]


def relaid(
    examination: Examination, site: str, findings: Sequence[str] = (), moves: Sequence[Move] = ()
) -> Relaid:
    """``Resimulator.relaid``, for one question."""
    return Resimulator(examination).relaid(site, findings, moves)


def resimulate(
    examination: Examination, call: ReorderCall, progress: Progress | None = None
) -> ReorderResult:
    """``Resimulator.resimulate``, for one question."""
    return Resimulator(examination).resimulate(call, progress)


def _tally(rows: Iterable[ReplayRow]) -> Tally:
    counts = [(row.prompt_tokens, row.hit_tokens) for row in rows]
    prompt, hit = sum(prompt for prompt, _ in counts), sum(hit for _, hit in counts)
    return Tally(prompt_tokens=prompt, hit_tokens=hit, hit_rate=round(hit / prompt, 6) if prompt else 0.0)


def _known(ids: Iterable[str]) -> str:
    known = list(ids)
    return f"known are {', '.join(known[:20])}" if known else "there is none"
