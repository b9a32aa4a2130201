"""Survival of tool calls from durations of which some were cut off (Kaplan and Meier, 1958)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from keepwarm.reuse.curves import Curve
from keepwarm.reuse.durations.base import ToolDuration

_MOST_POINTS = 512
_TIME_DIGITS = 6  # of a second
_SHARE_DIGITS = 9


def survival_curve(durations: Sequence[ToolDuration], below: Sequence[Curve] = ()) -> Curve:
    """The curve of at least one call; ``below`` are the curves one falls back to past its end.

    One more call is counted than was seen, which outlasts them all: the longest of thirty is no bound, and a
    call that gets near it does not look as if it were about to end. From the longest time seen on, a call is
    expected to run for what the curves below say, and past all of them as long again as it has.
    """
    times = [round(duration.duration_s, _TIME_DIGITS) for duration in durations]
    ended = Counter(time_s for time_s, duration in zip(times, durations, strict=True) if not duration.cut_off)
    left_off = Counter(time_s for time_s, duration in zip(times, durations, strict=True) if duration.cut_off)
    running = len(durations) + 1
    share = 1.0
    points: list[tuple[float, float]] = []
    for time_s in sorted(ended | left_off):
        share *= 1.0 - ended[time_s] / running
        if ended[time_s]:
            points.append((time_s, round(share, _SHARE_DIGITS)))
        running -= ended[time_s] + left_off[time_s]
    points = _thinned(points)
    end_s = max(*times, 10.0**-_TIME_DIGITS)
    said = (curve.remaining_s(end_s) for curve in below)
    beyond_s = next((remaining_s for remaining_s in said if remaining_s is not None), end_s)
    return Curve(
        [time_s for time_s, _ in points],
        [left for _, left in points],
        end_s=end_s,
        beyond_s=round(beyond_s, _TIME_DIGITS),
        samples=len(durations),
    )


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most so many points, evenly by rank, the last among them, each below the one before it."""
    stride = -(-len(points) // _MOST_POINTS) or 1
    kept = points[::-1][::stride][::-1]
    falling: list[tuple[float, float]] = []
    for point in kept:
        if point[1] < (falling[-1][1] if falling else 1.0):
            falling.append(point)
    return falling
