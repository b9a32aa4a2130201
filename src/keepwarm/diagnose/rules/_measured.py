"""What the rules that compare with measured figures have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keepwarm.diagnose.findings import Evidence
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules.base import Candidate
from keepwarm.diagnose.view import SiteView


def measured_candidate(
    view: SiteView, tokens: Sequence[int], rows: Sequence[int], *, note: str, confidence: float
) -> Iterator[Candidate]:
    """A candidate whose gain per row is known: ``tokens`` are indexed by row."""
    lost = {i: tokens[i] for i in rows if tokens[i] > 0}
    if not lost:
        return
    worst = max(lost, key=lambda i: (lost[i], -i))
    yield Candidate(
        path=None,
        rows=tuple(sorted(lost)),
        confidence=confidence,
        evidence=Evidence(request=view.catalog.rows[worst].id, note=note),
        order=_order.MEASURED,
        measured=lost,
    )
