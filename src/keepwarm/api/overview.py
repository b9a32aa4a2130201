"""The first page's answers: what loses most, what was measured, whether behaviour changed."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from keepwarm._errors import InputError
from keepwarm.api.diagnoses.call_sites import call_site_rows
from keepwarm.api.diagnoses.shelf import Opened, Shelf
from keepwarm.api.library.kinds.canary import CanaryHead
from keepwarm.api.library.kinds.verdict import VerdictHead
from keepwarm.api.library.library import Found, Library
from keepwarm.api.schema.diagnosis import CallSiteRow
from keepwarm.api.schema.library import Behaviour, MeasuredGain, Overview, WorstLoss
from keepwarm.replay.comparing.comparison import Comparison


def overview(library: Library, shelf: Shelf, diagnosis: str | None) -> Overview:
    """Of that diagnosis, or of the newest one that can be read. Raises NoSuchResult, InputError."""
    results = library.all()
    opened = _newest(results, shelf) if diagnosis is None else shelf.open(diagnosis)
    return Overview(
        diagnosis=None if opened is None else opened.found.item.id,
        worst=None if opened is None else _worst(opened),
        measured=_measured(results, opened),
        behaviour=_behaviour(results),
        canary=next((item.id for item, _, head in results if isinstance(head, CanaryHead)), None),
    )


def _newest(results: Sequence[Found], shelf: Shelf) -> Opened | None:
    for item, _, _ in results:
        if item.kind == "diagnosis":
            with contextlib.suppress(InputError):
                return shelf.open(item.id)
    return None


def _worst(opened: Opened) -> WorstLoss | None:
    rows = call_site_rows(opened)
    return _loss(rows[0]) if rows and rows[0].lost_tokens else None


def _loss(row: CallSiteRow) -> WorstLoss:
    best = next((finding for finding in row.findings if finding.recoverable_tokens), None)
    loss = WorstLoss(
        call_site=row.id,
        call_site_name=row.name,
        lost_tokens=row.lost_tokens,
        hit_rate=row.hit_rate,
        hit_rate_if_fixed=row.hit_rate_if_fixed,
    )
    if best is None:
        return loss
    return replace(
        loss,
        finding=best.id,
        cause=best.cause,
        owner=best.owner.value,
        path=best.path,
        token_offset=best.token_offset,
        recoverable_tokens=best.recoverable_tokens,
        suggestion=best.suggestion,
    )


def _measured(results: Sequence[Found], opened: Opened | None) -> MeasuredGain | None:
    for found in results:
        if found.item.kind != "comparison":
            continue
        with contextlib.suppress(InputError):  # the list of results says what is wrong with it
            told = found.document(Comparison)
            return MeasuredGain(
                comparison=found.item.id,
                hit_rate_before=told.hit_rate.before.value,
                hit_rate_after=told.hit_rate.after.value,
                ttft_ratio=told.ttft.ratio.value,
                ttft_ratio_low=told.ttft.ratio.low,
                ttft_ratio_high=told.ttft.ratio.high,
                complete=told.complete,
                same_trace=opened is not None
                and told.before.trace_sha256 == opened.saved.diagnosis.input.sha256,
            )
    return None


def _behaviour(results: Sequence[Found]) -> Behaviour | None:
    """Of each attempt at a task, told by its commit, the newest verdict counts."""
    newest: dict[tuple[str, str], tuple[str, str]] = {}  # by task and commit: the verdict's id and outcome
    for found in results:
        told = found.head
        if isinstance(told, VerdictHead):
            newest.setdefault((told.task_id, told.head), (found.item.id, told.outcome))
    if not newest:
        return None
    outcomes = Counter(outcome for _, outcome in newest.values())
    return Behaviour(
        passed=outcomes["pass"],
        failed=outcomes["fail"],
        needing_approval=outcomes["needs-approval"],
        latest=next(iter(newest.values()))[0],
        waiting=tuple(id_ for id_, outcome in newest.values() if outcome == "needs-approval"),
    )
