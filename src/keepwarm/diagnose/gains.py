"""What each suspected cause would give back, by simulating the trace without it.

Causes of one call site hide each other: with a clock at the top and an id below it, fixing one
alone gains nothing. Each gets the mean of its marginal gains when fixes are added from the top
of the prompt down and from the bottom up. Those sums telescope, so nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from keepwarm.diagnose.fixes import apply_fixes
from keepwarm.diagnose.rules.base import Candidate
from keepwarm.diagnose.traffic import Encoded, Traffic
from keepwarm.diagnose.view import SiteView


class Simulator:
    """Recomputed prompt tokens of one call site under subsets of its candidates' fixes."""

    def __init__(self, view: SiteView, candidates: Sequence[Candidate], before: int) -> None:
        self._view = view
        self._traffic: Traffic = view.traffic
        self._candidates = candidates
        self._known: dict[frozenset[int], int] = {frozenset(): before}

    def recomputed(self, chosen: frozenset[int]) -> int:
        """Prompt tokens of the site that are not hits, with the fixes of ``chosen`` candidates."""
        if chosen not in self._known:
            picked = [self._candidates[i] for i in sorted(chosen)]
            changed = self._changed(picked)
            reading = frozenset(i for candidate in picked for i in candidate.reading)
            replayed = self._traffic.replay(changed, reading=reading)
            self._known[chosen] = sum(
                replayed[row.index].prompt_tokens - replayed[row.index].hit_tokens for row in self._view.rows
            )
        return self._known[chosen]

    def _changed(self, picked: Sequence[Candidate]) -> dict[int, Encoded]:
        fixes = [fix for candidate in picked for fix in candidate.fixes]
        for fix in fixes:
            fix.reset()
        grows = [candidate.grow for candidate in picked if candidate.grow is not None]
        changed = {}
        for row in self._view.rows:
            request = self._view.catalog.request(row)
            fixed = apply_fixes(fixes, row, request)
            if fixed != request:
                changed[row.index] = self._traffic.encode(fixed)
            for grow in grows:
                ids = grow.ids(self._traffic, row.index)
                if row.index in grow.rows and row.index not in changed:
                    changed[row.index] = self._traffic.hash_ids(request, ids)
        return changed


def shared_gains(view: SiteView, candidates: Sequence[Candidate], before: int) -> list[int]:
    """Tokens each candidate gives back, 0 or more; ``before`` are the site's recomputed tokens.

    ``candidates`` come in prompt order. Measured ones bring their own figure.
    """
    simulator = Simulator(view, candidates, before)
    simulated = [i for i, candidate in enumerate(candidates) if candidate.measured is None]
    down = _marginal(simulator, simulated)
    up = _marginal(simulator, simulated[::-1]) if len(simulated) > 1 else down
    gains = []
    for i, candidate in enumerate(candidates):
        if candidate.measured is not None:
            gains.append(sum(candidate.measured.values()))
        else:
            gains.append(max(0, (down[i] + up[i]) // 2))
    return gains


def _marginal(simulator: Simulator, order: Sequence[int]) -> dict[int, int]:
    gains, chosen = {}, frozenset[int]()
    for i in order:
        wider = chosen | {i}
        gains[i] = simulator.recomputed(chosen) - simulator.recomputed(wider)
        chosen = wider
    return gains
