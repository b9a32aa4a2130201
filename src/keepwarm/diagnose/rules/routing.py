"""The rule for hits that are missing without a reason in the text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Owner
from keepwarm.diagnose.rules._measured import measured_candidate
from keepwarm.diagnose.rules.base import Candidate, Rule

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView

_MIN_ROWS = 2  # one request alone is a restart, or a template that orders its parts otherwise


class Routing(Rule):
    """The server hit far less than it should have, and neither text nor time explains it.

    Behind most such figures stands a load balancer that spreads the requests of a session over
    replicas, each with a cache of its own.

    **Recognised by** recorded `cached_tokens` far below the simulated hits of the same requests,
    where no time to live explains the difference.

    **Fix.** Route by session or by prefix, so that a request reaches the replica that holds its
    prefix. Check as well that prefix caching is switched on everywhere.

    **Not to be confused with** `expired`, where the gaps are long, and `eviction`, where the
    simulation itself runs out of blocks.
    """

    code = "routing"
    owner = Owner.ENGINE
    summary = "measured hits far under simulated hits, with no textual difference"
    suggestion = (
        "Route by session or by prefix so that a request reaches the replica that holds its prefix, and"
        " check that prefix caching is on everywhere."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Rows with a shortfall that no time to live explains."""
        measured = view.measured
        rows = [row.index for row in view.rows if row.index not in measured.expired]
        if sum(measured.shortfall[i] > 0 for i in rows) < _MIN_ROWS:
            return
        note = "recorded cached_tokens stay below what the same requests should hit"
        yield from measured_candidate(view, measured.shortfall, rows, note=note, confidence=0.7)
