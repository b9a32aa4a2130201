"""What each suspected cause would give back, by simulating the trace without it.

Causes of one call site hide each other: with a clock at the top and an id below it, fixing one
alone gains nothing. Each gets the mean of its marginal gains when fixes are added from the top
of the prompt down and from the bottom up. Those sums telescope, so nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from keepwarm.diagnose.fixes import Fix, apply_fixes
from keepwarm.diagnose.rules.base import Candidate
from keepwarm.diagnose.traffic import Traffic
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.blocks import Encoded


class Outcome(NamedTuple):
    """A call site's simulated hits, and its prompt tokens, under some fixes."""

    hit_tokens: int
    prompt_tokens: int


class Gain(NamedTuple):
    """What a fix gives back: hits won, and the tokens it puts into prompts to win them.

    Only repairs that send more, such as history that is no longer cut, add tokens. ``alone_tokens``
    are the hits won when nothing else is fixed.
    """

    recoverable_tokens: int
    added_tokens: int
    alone_tokens: int


class Simulator:
    """Outcomes of one call site under subsets of its candidates' fixes."""

    def __init__(self, view: SiteView, candidates: Sequence[Candidate]) -> None:
        self._view = view
        self._traffic: Traffic = view.traffic
        self._candidates = candidates
        rows = [row.index for row in view.rows]
        before = Outcome(sum(view.measured.hit[i] for i in rows), sum(view.measured.prompt[i] for i in rows))
        self._known: dict[frozenset[int], Outcome] = {frozenset(): before}

    def outcome(self, chosen: frozenset[int]) -> Outcome:
        """The site's outcome with the fixes of the ``chosen`` candidates."""
        if chosen not in self._known:
            picked = [self._candidates[i] for i in sorted(chosen)]
            reading = frozenset(i for candidate in picked for i in candidate.reading)
            replayed = self._traffic.replay(laid_out(self._view, picked), reading=reading)
            rows = [replayed[row.index] for row in self._view.rows]
            self._known[chosen] = Outcome(
                sum(row.hit_tokens for row in rows), sum(row.prompt_tokens for row in rows)
            )
        return self._known[chosen]


def laid_out(view: SiteView, picked: Sequence[Candidate], moves: Sequence[Fix] = ()) -> dict[int, Encoded]:
    """The site's requests that the fixes of ``picked`` and ``moves`` change, by row. Mutates those fixes."""
    traffic = view.traffic
    fixes = [*(fix for candidate in picked for fix in candidate.fixes), *moves]
    for fix in fixes:
        fix.reset()
    grows = [candidate.grow for candidate in picked if candidate.grow is not None]
    changed = {}
    touched = frozenset[int]().union(*(fix.rows for fix in fixes), *(grow.rows for grow in grows))
    for row in view.rows:
        if row.index not in touched and not grows:
            continue
        request = view.catalog.request(row)
        fixed = apply_fixes(fixes, row, request)
        if fixed is not request:
            changed[row.index] = traffic.encode(fixed)
        for grow in grows:
            ids = grow.ids(traffic, row.index)
            if row.index in grow.rows and row.index not in changed:
                changed[row.index] = traffic.hash_ids(request, ids)
    return changed


def shared_gains(view: SiteView, candidates: Sequence[Candidate]) -> list[Gain]:
    """Gains of the candidates, which come in prompt order; measured ones bring their own figure."""
    simulator = Simulator(view, candidates)
    simulated = [i for i, candidate in enumerate(candidates) if candidate.measured is None]
    down = _marginal(simulator, simulated)
    up = _marginal(simulator, simulated[::-1]) if len(simulated) > 1 else down
    gains = []
    for i, candidate in enumerate(candidates):
        if candidate.measured is not None:
            measured = sum(candidate.measured.values())
            gains.append(Gain(measured, 0, measured))
        else:
            hits = (down[i].hit_tokens + up[i].hit_tokens) // 2
            added = (down[i].prompt_tokens + up[i].prompt_tokens) // 2
            alone = simulator.outcome(frozenset((i,))).hit_tokens - simulator.outcome(frozenset()).hit_tokens
            gains.append(Gain(max(0, hits), max(0, added), max(0, alone)))
    return gains


def _marginal(simulator: Simulator, order: Sequence[int]) -> dict[int, Outcome]:
    gains, chosen = {}, frozenset[int]()
    for i in order:
        without, with_it = simulator.outcome(chosen), simulator.outcome(chosen | {i})
        chosen |= {i}
        gains[i] = Outcome(
            with_it.hit_tokens - without.hit_tokens, with_it.prompt_tokens - without.prompt_tokens
        )
    return gains
