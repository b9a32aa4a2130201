"""The check as the JSON document ``keepwarm.check/1``: stable keys, stable bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from keepwarm._json import plain
from keepwarm.gate.verdict import FindingChange, SiteChange, Verdict


def check_document(verdict: Verdict, baseline: Path) -> dict[str, Any]:
    """``verdict`` in the contract's key order; ``then`` is the baseline, ``now`` the trace."""
    diagnosis = verdict.diagnosis
    source = diagnosis.input
    document: dict[str, Any] = plain(
        {
            "schema": "keepwarm.check/1",
            "passed": not verdict.refusals,
            "refusals": verdict.refusals,
            "input": {"path": source.path, "sha256": source.sha256, "requests": source.requests},
            "baseline": str(baseline),
            "max_drop_points": verdict.max_drop_points,
            "hit_rate": {
                "then": verdict.hit_rate_before,
                "now": verdict.hit_rate_now,
                "drop_points": verdict.drop_points,
            },
            "call_sites": [_site(change) for change in verdict.sites],
            "findings": [_finding(change) for change in verdict.findings],
        }
    )
    return document


def _site(change: SiteChange) -> dict[str, Any]:
    then, now = change.before, change.shown
    return {
        "key": change.key,
        "status": change.status,
        "id": None if now is None else now.id,
        "name": change.label,
        "requests": {
            "then": None if then is None else then.requests,
            "now": None if now is None else now.requests,
        },
        "hit_rate": {
            "then": None if then is None else then.hit_rate,
            "now": None if now is None else now.hit_rate,
        },
        "drop_points": change.drop_points if then is not None and now is not None else None,
    }


def _finding(change: FindingChange) -> dict[str, Any]:
    then, now = change.before, change.finding
    return {
        "status": change.status,
        "cause": change.cause,
        "call_site": change.key,
        "path": change.path,
        "path_then": None if then is None else then.path,
        "id": None if now is None else now.id,
        "owner": None if now is None else now.owner,
        "recoverable_tokens": {
            "then": None if then is None else then.recoverable_tokens,
            "now": None if now is None else now.recoverable_tokens,
        },
        "suggestion": None if now is None else now.suggestion,
    }
