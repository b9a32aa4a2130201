"""The rule for prefixes lost to capacity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Owner
from keepwarm.diagnose.rules._measured import measured_candidate
from keepwarm.diagnose.rules.base import Candidate, Rule

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class Eviction(Rule):
    """The prefix was cached, and lost to capacity before it was used again.

    Long sessions that take turns, or a burst of prompts that are used once, push out what is
    needed next. Nothing in the prompts is wrong.

    **Recognised by** simulation: with the given number of blocks the prefix misses, without a
    limit it hits. Needs `--capacity-blocks`.

    **Fix.** More blocks, fewer sessions at a time, or a victim order that keeps hot prefixes.

    **Not to be confused with** `expired`, where time and not room is what ran out, and `routing`.
    """

    code = "eviction"
    owner = Owner.ENGINE
    summary = "the prefix was cached and lost to capacity"
    suggestion = (
        "Give the cache more blocks, serve fewer sessions at a time, or use a victim order that keeps "
        "hot prefixes through a burst of one-use prompts."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Rows that hit without a limit and miss with it."""
        evicted = [a - b for a, b in zip(view.measured.hit_unbounded, view.measured.hit, strict=True)]
        rows = [row.index for row in view.rows]
        note = f"with {view.traffic.capacity_blocks} usable blocks of {view.measured.block_size} tokens"
        yield from measured_candidate(view, evicted, rows, note=note, confidence=0.95)
