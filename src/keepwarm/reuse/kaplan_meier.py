"""Survival of tool calls from durations of which some were cut off (Kaplan and Meier, 1958)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from keepwarm.reuse.curves import Curve
from keepwarm.reuse.durations.base import ToolDuration

_MOST_POINTS = 512
_PRIOR_CALLS = 30.0  # as many as a cluster has at least
_HORIZON = 10.0  # how far beyond the longest time seen a call is thought to run, as a multiple of it
_SAME = 1e-9
_TIME_DIGITS = 6  # of a second
_SHARE_DIGITS = 9


def survival_curve(durations: Sequence[ToolDuration], below: Sequence[Curve] = ()) -> Curve:
    """The curve of at least one call; ``below`` are the curves one falls back to past its end.

    ``_PRIOR_CALLS`` calls are counted beside those seen, which last as the curve below says: where few calls
    are left the curve follows it, and at its end it goes over to it without a step (Susarla and Van Ryzin,
    1976). Beside all calls there is one that outlasts them, and past their end a Pareto tail. So a call that
    gets near the longest time seen does not look as if it were about to end.
    """
    ended, left_off = _counts(durations)
    end_s = max(*ended, *left_off, 10.0**-_TIME_DIGITS)
    prior = dict(zip(below[0].times_s, below[0].survival, strict=True)) if below else {}
    prior_calls = _PRIOR_CALLS if below else 1.0
    running = len(durations)
    prior_share = share = 1.0
    points: list[tuple[float, float]] = []
    for time_s in sorted({*ended, *left_off, *(time_s for time_s in prior if time_s <= end_s)}):
        later = prior.get(time_s, prior_share)
        ending = ended[time_s] + prior_calls * (prior_share - later)
        if ending:
            share *= 1.0 - ending / (running + prior_calls * prior_share)
            points.append((time_s, round(share, _SHARE_DIGITS)))
        prior_share = later
        running -= ended[time_s] + left_off[time_s]
    points = _thinned(points)
    said = (curve.remaining_s(end_s) for curve in below)
    known = (remaining_s for remaining_s in said if remaining_s is not None)
    beyond_s = next(known, None) or (below[-1].beyond_s if below else _pareto_tail_s(durations, end_s))
    return Curve(
        [time_s for time_s, _ in points],
        [left for _, left in points],
        end_s=end_s,
        beyond_s=round(beyond_s, _TIME_DIGITS),
        samples=len(durations),
    )


def _counts(durations: Sequence[ToolDuration]) -> tuple[Counter[float], Counter[float]]:
    """How many calls ended, and how many were cut off, by the time."""
    ended: Counter[float] = Counter()
    left_off: Counter[float] = Counter()
    for duration in durations:
        counts = left_off if duration.cut_off else ended
        counts[round(duration.duration_s, _TIME_DIGITS)] += 1
    return ended, left_off


def _pareto_tail_s(durations: Sequence[ToolDuration], end_s: float) -> float:
    """Expected seconds that a call runs on for at ``end_s``, the mean restricted to ``_HORIZON`` times it.

    The exponent is Hill's estimate with calls cut off, from calls longer than a tenth of ``end_s``, and one
    call more of exponent 1. Tools have exponents under 1, of which the mean is infinite: hence the horizon.
    """
    from_s = end_s / _HORIZON
    tail = [duration for duration in durations if duration.duration_s > from_s]
    ended = sum(not duration.cut_off for duration in tail)
    logs = math.fsum(math.log(duration.duration_s / from_s) for duration in tail)
    rest = 1.0 - (1.0 + ended) / (1.0 + logs)
    stretch = math.log(_HORIZON) if abs(rest) < _SAME else (_HORIZON**rest - 1.0) / rest
    return end_s * stretch


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most so many points, evenly by rank, the last among them, each below the one before it."""
    stride = -(-len(points) // _MOST_POINTS) or 1
    kept = points[::-1][::stride][::-1]
    falling: list[tuple[float, float]] = []
    for point in kept:
        if point[1] < (falling[-1][1] if falling else 1.0):
            falling.append(point)
    return falling
