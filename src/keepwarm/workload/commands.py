"""Commands for the tool gaps of a trace that records none, by a rule that no predictor can read back.

**The rule.** ``split_seed`` splits the tasks in two. For each gap after a tool call one call of the held-out
tasks is drawn, all alike likely, by ``seed`` and the session's name: the command comes first, and nothing of
the gap recorded there goes into it. Its duration follows and is mapped to a gap by rank: the drawn call that
ran longest gets the longest recorded tool gap, and so on. So a longer call never has the shorter gap, and the
tool gaps of the workload stay, as a set, exactly those of the trace. Calls of equal duration share out their
gaps at random. A call that the recorder cut off outlasts every call that ended; those that were cut off share
out the tail at random. Gaps after a human, or after nobody knows what, stay where they are.

**Training.** Calls of the other tasks go through the same map, so that a model fitted on them speaks of the
same time. The map holds no command: of the held-out tasks it tells how their durations are spread, no more.
"""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.durations.base import ToolDuration
from keepwarm.workload.base import SessionTrace, Trigger, Turn, Workload

HELD_OUT = 1 / 3


class Gaps(Enum):
    """Where the gaps after tool calls come from, and what is said of the calls."""

    DRAWN = "drawn"  # a command is drawn, its gap follows
    MATCHED = "matched"  # recorded gaps, each with a call of its rank: the call gives its gap away
    RECORDED = "recorded"  # recorded gaps, and the calls that the trace itself names


class Attached(NamedTuple):
    """A workload with commands. ``training``: what a model for it may be fitted on, in its own gaps."""

    workload: Workload
    training: Sequence[ToolDuration]


class Split(NamedTuple):
    """Durations of the tasks to fit on, and of those to draw from."""

    training: Sequence[ToolDuration]
    held_out: Sequence[ToolDuration]


def split_by_task(durations: Sequence[ToolDuration], *, seed: int = 0, held_out: float = HELD_OUT) -> Split:
    """Split so that ``held_out`` of the tasks, rounded, but at least one, are in the second part.

    Raises:
        InputError: they are not of two tasks at least, or the share leaves no task to fit on.
    """
    tasks = sorted({duration.task for duration in durations})
    count = max(1, round(held_out * len(tasks)))
    if len(tasks) < 2 or count >= len(tasks):
        raise InputError(
            f"{len(tasks)} tasks, {held_out!r} of them held out, leave none to fit on; name tool durations "
            "of more tasks, or hold out fewer"
        )
    chosen = frozenset(random.Random(f"tasks/{seed}").sample(tasks, count))  # noqa: S311 - seeded, not secret
    return Split(
        tuple(duration for duration in durations if duration.task not in chosen),
        tuple(duration for duration in durations if duration.task in chosen),
    )


class GapMap:
    """A monotone map from durations to gaps: their place among those drawn from, among the gaps."""

    def __init__(self, durations: Sequence[ToolDuration], gaps_s: Sequence[float]) -> None:
        self._durations_s = sorted(map(_order_s, durations))
        self._gaps_s = sorted(gaps_s)

    def gap_s(self, duration: ToolDuration, chance: float) -> float:
        """The gap for ``duration``; ``chance``, from 0 to 1, places it among those as long. O(log n)."""
        length_s = _order_s(duration)
        low, high = bisect_left(self._durations_s, length_s), bisect_right(self._durations_s, length_s)
        place = (low + chance * (high - low)) / len(self._durations_s)
        return self._gaps_s[min(int(place * len(self._gaps_s)), len(self._gaps_s) - 1)]


def attach_commands(
    workload: Workload,
    durations: Sequence[ToolDuration],
    *,
    seed: int = 0,
    split_seed: int = 0,
    gaps: Gaps = Gaps.DRAWN,
    held_out: float = HELD_OUT,
) -> Attached:
    """Give each tool gap of ``workload`` a call of the held-out tasks, by the rule of ``gaps``.

    The same arguments give the same workload. ``training`` depends on ``split_seed`` but not on ``seed``: one
    model serves all seeds.

    Raises:
        InputError: the trace has no gap after a tool call, or the durations are of too few tasks.
    """
    recorded_s = [turn.gap_s for session in workload.sessions for turn in _tool_turns(session)]
    if not recorded_s:
        raise InputError("no request of the trace follows a tool call; leave the tool durations out")
    split = split_by_task(durations, seed=split_seed, held_out=held_out)
    training = _mapped(split.training, GapMap(split.held_out, recorded_s), split_seed)
    if gaps is Gaps.RECORDED:
        return Attached(workload, training)
    drawn = list(_drawn(workload, split.held_out, seed))
    if gaps is Gaps.MATCHED:
        calls = [ranked.call for ranked in sorted(drawn)]
        places = _places(recorded_s, seed)
        given = [_Given(calls[place], gap_s) for place, gap_s in zip(places, recorded_s, strict=True)]
    else:
        given = [_Given(drawn[0].call, 0.0)] * len(drawn)
        ascending = sorted(range(len(drawn)), key=drawn.__getitem__)
        for place, gap_s in zip(ascending, sorted(recorded_s), strict=True):
            given[place] = _Given(drawn[place].call, gap_s)
    return Attached(_with_calls(workload, iter(given)), training)


class _Drawn(NamedTuple):
    """A call, by what orders it among all that were drawn: its length, then chance."""

    length_s: float
    chance: float
    call: ToolCall


class _Given(NamedTuple):
    """What a turn gets."""

    call: ToolCall
    gap_s: float


def _order_s(duration: ToolDuration) -> float:
    return float("inf") if duration.cut_off else duration.duration_s


def _tool_turns(session: SessionTrace) -> Iterator[Turn]:
    """Those whose gap a tool took; the first request of a session has none."""
    return (turn for turn in session.turns[1:] if turn.trigger is Trigger.TOOL)


def _drawn(workload: Workload, durations: Sequence[ToolDuration], seed: int) -> Iterator[_Drawn]:
    """A call for each tool gap; what a session gets does not depend on the others."""
    for session in workload.sessions:
        chances = random.Random(f"{seed}/{session.id}")  # noqa: S311 - seeded, not secret
        for _ in _tool_turns(session):
            duration = durations[chances.randrange(len(durations))]
            yield _Drawn(_order_s(duration), chances.random(), duration.call)


def _places(gaps_s: Sequence[float], seed: int) -> list[int]:
    """The rank of each gap among all, from 0; equal ones in random order."""
    chances = random.Random(f"ranks/{seed}")  # noqa: S311 - seeded, not secret
    keys = [(gap_s, chances.random()) for gap_s in gaps_s]
    places = [0] * len(keys)
    for place, index in enumerate(sorted(range(len(keys)), key=keys.__getitem__)):
        places[index] = place
    return places


def _mapped(durations: Sequence[ToolDuration], gap_map: GapMap, seed: int) -> tuple[ToolDuration, ...]:
    """In gaps of the workload, where no recorder cuts a call off."""
    chances = random.Random(f"training/{seed}")  # noqa: S311 - seeded, not secret
    return tuple(
        ToolDuration(duration.call, gap_map.gap_s(duration, chances.random()), duration.task)
        for duration in durations
    )


def _with_calls(workload: Workload, given: Iterator[_Given]) -> Workload:
    sessions = []
    for session in workload.sessions:
        turns = list(session.turns)
        for place, turn in enumerate(turns):
            if place and turn.trigger is Trigger.TOOL:
                call, gap_s = next(given)
                turns[place] = turn._replace(gap_s=gap_s, call=call)
        sessions.append(session._replace(turns=tuple(turns)))
    return workload._replace(sessions=tuple(sessions))
