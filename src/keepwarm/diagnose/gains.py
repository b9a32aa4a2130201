"""What each suspected cause would give back, by simulating the trace without it.

Causes of one call site hide each other: with a clock at the top and an id below it, fixing one
alone gains nothing. Each gets the mean of its marginal gains when fixes are added from the top
of the prompt down and from the bottom up. Those sums telescope, so nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm.diagnose.fixes import Fix, apply_fixes
from keepwarm.diagnose.rules.base import Candidate
from keepwarm.diagnose.traffic import Traffic
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.blocks import Encoded

Tokens = npt.NDArray[np.float64]


def _nothing() -> Tokens:
    return np.empty(0)


class Outcome(NamedTuple):
    """A call site's simulated hits, and its prompt tokens, under some fixes; by request those that count."""

    hits: Tokens
    prompts: Tokens

    @property
    def hit_tokens(self) -> int:
        return round(float(self.hits.sum()))

    @property
    def prompt_tokens(self) -> int:
        return round(float(self.prompts.sum()))


@dataclass(frozen=True)
class Gain:
    """What a fix gives back: hits won, and the tokens it puts into prompts to win them.

    Only repairs that send more, such as history that is no longer cut, add tokens. ``alone_tokens``
    are the hits won when nothing else is fixed. ``won`` and ``added`` are the first two by request, as far as
    it counts.
    """

    recoverable_tokens: int
    added_tokens: int
    alone_tokens: int
    won: Tokens = field(default_factory=_nothing, compare=False)
    added: Tokens = field(default_factory=_nothing, compare=False)


class Simulator:
    """Outcomes of one call site under subsets of its candidates' fixes."""

    def __init__(self, view: SiteView, candidates: Sequence[Candidate]) -> None:
        self._view = view
        self._traffic: Traffic = view.traffic
        self._candidates = candidates
        self._rows = view.traffic.counted(row.index for row in view.rows)
        before = Outcome(
            np.array([view.measured.hit[i] for i in self._rows], dtype=np.float64),
            np.array([view.measured.prompt[i] for i in self._rows], dtype=np.float64),
        )
        self._known: dict[frozenset[int], Outcome] = {frozenset(): before}

    def outcome(self, chosen: frozenset[int]) -> Outcome:
        """The site's outcome with the fixes of the ``chosen`` candidates."""
        if chosen not in self._known:
            picked = [self._candidates[i] for i in sorted(chosen)]
            reading = frozenset(i for candidate in picked for i in candidate.reading)
            replayed = self._traffic.replay(laid_out(self._view, picked), reading=reading)
            hits = np.array([replayed[i].hit_tokens for i in self._rows], dtype=np.float64)
            prompts = np.array([replayed[i].prompt_tokens for i in self._rows], dtype=np.float64)
            self._known[chosen] = Outcome(hits, prompts)
        return self._known[chosen]

    def by_request(self, tokens: Mapping[int, int]) -> Tokens:
        """``tokens`` by row for the requests that count."""
        return np.array([tokens.get(i, 0) for i in self._rows], dtype=np.float64)


def laid_out(
    view: SiteView, picked: Sequence[Candidate], moves: Sequence[Fix] = ()
) -> MutableMapping[int, Encoded]:
    """The site's requests that the fixes of ``picked`` and ``moves`` change, by row. Mutates those fixes."""
    traffic = view.traffic
    fixes = [*(fix for candidate in picked for fix in candidate.fixes), *moves]
    for fix in fixes:
        fix.reset()
    grows = [candidate.grow for candidate in picked if candidate.grow is not None]
    changed = traffic.changes()
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
            won = simulator.by_request(candidate.measured)
            measured = round(float(won.sum()))
            gains.append(Gain(measured, 0, measured, won, np.zeros_like(won)))
        else:
            hits = (down[i].hit_tokens + up[i].hit_tokens) // 2
            added = (down[i].prompt_tokens + up[i].prompt_tokens) // 2
            alone = simulator.outcome(frozenset((i,))).hit_tokens - simulator.outcome(frozenset()).hit_tokens
            gains.append(
                Gain(
                    max(0, hits),
                    max(0, added),
                    max(0, alone),
                    (down[i].hits + up[i].hits) / 2,
                    (down[i].prompts + up[i].prompts) / 2,
                )
            )
    return gains


def _marginal(simulator: Simulator, order: Sequence[int]) -> dict[int, Outcome]:
    gains, chosen = {}, frozenset[int]()
    for i in order:
        without, with_it = simulator.outcome(chosen), simulator.outcome(chosen | {i})
        chosen |= {i}
        gains[i] = Outcome(with_it.hits - without.hits, with_it.prompts - without.prompts)
    return gains
