"""Whether the repair gives back what it was made for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keepwarm.diagnose import diagnose
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.guard.base import Evidence, GuardCheck, Look, Problem
from keepwarm.guard.traces import Comparison

# A tenth of a point: a block more or less where call sites share their first tokens.
_NOISE = 0.001


class _Rates(NamedTuple):
    """Simulated hit rates of one call site of BEFORE."""

    site: str
    before: float
    after: float


class ReuseTarget(GuardCheck):
    """The call site reaches the hit rate the task asks for, and no other call site got worse.

    AFTER is simulated anew with the same tokenizer, template, block size and capacity as BEFORE; no figure of
    the task is taken on trust. Requests are grouped by the call site they have in BEFORE. Hit rates are
    simulated; a measured comparison is another command. Worse means by more than 0.1 points.
    """

    name = "reuse-target"
    needs = ("before", "after")

    def look(self, evidence: Evidence) -> Look:
        comparison = evidence.comparison
        before, after = (diagnose(str(path), evidence.options) for path in (evidence.before, evidence.after))
        rates = _rates(comparison, before, after)
        site, required = evidence.task.finding.call_site, evidence.task.target.hit_rate_required
        problems = list(_problems(rates, site, required))
        mended = next((rate for rate in rates if rate.site == site), None)
        said = "no hit rate"
        if mended is not None:
            said = f"{site} goes from {mended.before:.2%} to {mended.after:.2%}, {required:.2%} required"
        tokens = "exact tokens" if after.encoding.exact else "approximate tokens"
        return Look(f"{said} (simulated, {tokens}, blocks of {after.cache.block_size})", tuple(problems))


def _rates(comparison: Comparison, before: Diagnosis, after: Diagnosis) -> list[_Rates]:
    """Per call site, over the requests that are in both; rows come in the order of the catalog."""
    hits: Counter[tuple[str, str]] = Counter()
    prompts: Counter[tuple[str, str]] = Counter()
    for pair in comparison.pairs:
        site = comparison.site(pair.before).id
        sides = (("before", before.rows[pair.before.index]), ("after", after.rows[pair.after.index]))
        for side, row in sides:
            hits[side, site] += row.tokens.hit
            prompts[side, site] += row.tokens.prompt

    def rate(side: str, site: str) -> float:
        return hits[side, site] / prompts[side, site] if prompts[side, site] else 0.0

    sites = dict.fromkeys(comparison.site(pair.before).id for pair in comparison.pairs)
    return [_Rates(site, rate("before", site), rate("after", site)) for site in sites]


def _problems(rates: Sequence[_Rates], mended: str, required: float) -> Iterator[Problem]:
    if mended not in {rate.site for rate in rates}:
        yield Problem(
            where=mended,
            what="no request of the finding's call site is in both traces",
            next_step="record AFTER from the same inputs as BEFORE",
        )
    for rate in rates:
        if rate.site == mended and rate.after < required:
            yield Problem(
                where=rate.site,
                what=f"simulated hit rate {rate.after:.4f} of AFTER is below the required {required:.4f}",
                next_step="find what still breaks the prefix: keepwarm diagnose on AFTER",
            )
        elif rate.site != mended and rate.after < rate.before - _NOISE:
            yield Problem(
                where=rate.site,
                what=f"simulated hit rate fell from {rate.before:.4f} to {rate.after:.4f}",
                next_step="leave the prompts of other call sites as they were",
            )
