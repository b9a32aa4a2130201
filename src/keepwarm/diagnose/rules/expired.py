"""The rule for prefixes that outlived their time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Owner
from keepwarm.diagnose.rules._measured import measured_candidate
from keepwarm.diagnose.rules.base import Candidate, Rule

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class Expired(Rule):
    """A provider's time to live lapsed between two uses of a prefix.

    Hosted caches drop a prefix that nobody used for some minutes. A conversation whose user
    thinks for longer than that starts cold at every turn.

    **Recognised by** recorded `cached_tokens` that stay below the simulated hits just where the
    prefix had not been used for longer than some time, while prefixes used within it do hit. The
    time is found from the trace, or given with `--ttl-s`.

    **Fix.** A longer time to live where the provider offers one, a cheap request that keeps the
    prefix warm where that pays, or batches of work close together in time.

    **Not to be confused with** `eviction`, where room ran out, and `routing`, where hits are
    missing however short the gap.
    """

    code = "expired"
    owner = Owner.ENGINE
    summary = "a provider's time to live lapsed between uses"
    suggestion = (
        "Ask for a longer time to live where the provider offers one, or keep the prefix warm with a "
        "cheap request where that pays."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Rows whose shortfall a time to live explains."""
        rows = [row.index for row in view.rows if row.index in view.measured.expired]
        if rows and view.measured.ttl_s is not None:
            note = f"prefixes unused for more than {round(view.measured.ttl_s)} s did not hit"
            yield from measured_candidate(view, view.measured.shortfall, rows, note=note, confidence=0.85)
