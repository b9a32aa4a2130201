"""Two figures for a rule that says which of several idle sessions comes back last.

Calls are judged at two moments: as they start, and as an eviction finds them, that is in proportion to how
long they run, at a time drawn uniformly from their run. What is left of a call is then known; of one that was
cut off, only a least time is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.durations.base import ToolDuration

Rule = Callable[[ToolCall, float], float | None]
"""What a rule says of a call that has run for so many seconds: seconds left, None for unknown."""

MATTERS_S = 1.0  # two calls that end within a second of each other cost the same whichever goes first


class Moment(NamedTuple):
    """A call that has run for ``elapsed_s``; from ``least_s`` to ``most_s`` are left of it."""

    call: ToolCall
    elapsed_s: float
    least_s: float
    most_s: float


def at_start(durations: Sequence[ToolDuration]) -> list[Moment]:
    """Each call as it starts."""
    return [_moment(duration, 0.0) for duration in durations]


def as_found(durations: Sequence[ToolDuration], count: int, random: Random) -> list[Moment]:
    """``count`` moments of calls, long ones more often; none if no call took any time."""
    lasting = [duration for duration in durations if duration.duration_s > 0.0]
    if not lasting:
        return []
    drawn = random.choices(lasting, [duration.duration_s for duration in lasting], k=count)
    return [_moment(duration, random.random() * duration.duration_s) for duration in drawn]


def _moment(duration: ToolDuration, elapsed_s: float) -> Moment:
    left_s = duration.duration_s - elapsed_s
    return Moment(duration.call, elapsed_s, left_s, math.inf if duration.cut_off else left_s)


def ranks(rule: Rule, held_out: Sequence[Moment]) -> list[float]:
    """What decides who goes: the larger, the sooner. Unknown: the seconds idle, as the server does it."""
    said = [rule(moment.call, moment.elapsed_s) for moment in held_out]
    return [m.elapsed_s if left_s is None else left_s for m, left_s in zip(held_out, said, strict=True)]


def order_accuracy(
    ranks: Sequence[float], held_out: Sequence[Moment], pairs: Sequence[tuple[int, int]], gap_s: float
) -> float | None:
    """The share of pairs in the right order, of those known to end more than ``gap_s`` apart.

    Two of equal rank count a half, so a rule that knows nothing has 0.5 (Harrell's C). None without a pair.
    """
    right = 0.0
    known = 0
    for one, other in pairs:
        if held_out[one].least_s > held_out[other].most_s:
            one, other = other, one
        if not held_out[other].least_s - held_out[one].most_s > gap_s:
            continue
        known += 1
        right += 0.5 if ranks[one] == ranks[other] else ranks[one] < ranks[other]
    return right / known if known else None


def choice_regret_s(
    ranks: Sequence[float] | None, held_out: Sequence[Moment], draws: Sequence[Sequence[int]]
) -> float:
    """Mean seconds by which the oracle would have chosen better, over draws of idle sessions.

    The rule evicts the session of the largest rank (the first of equals), the oracle the one that comes back
    last. The regret is the oracle's time left less the chosen one's, and never less than is known: a call
    that was cut off may have run on for ever, so to choose it costs nothing, and not to choose it costs at
    least what was seen. ``ranks`` None: one chosen at random, in expectation.
    """
    total_s = 0.0
    for drawn in draws:
        best_s = max(held_out[index].least_s for index in drawn)
        chosen = list(drawn) if ranks is None else [max(drawn, key=ranks.__getitem__)]
        total_s += sum(max(0.0, best_s - held_out[index].most_s) for index in chosen) / len(chosen)
    return total_s / len(draws)
