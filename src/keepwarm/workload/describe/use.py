"""A pass over the requests in order of time: what was there before, and what is in use when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm.workload.base import Turn
from keepwarm.workload.describe.steps import Change
from keepwarm.workload.recording import Recording


class Sent(NamedTuple):
    """A request and when it was sent; where that is not recorded, when the one before was, at first 0."""

    time_s: float
    turn: Turn


class Use(NamedTuple):
    """``hit_tokens``: of each request in order of time, had nothing ever been lost.

    ``changes`` are those of the tokens in use within the window.
    """

    sent: Sequence[Sent]
    hit_tokens: Sequence[int]
    changes: Sequence[Change]


def follow(recording: Recording, window_s: float) -> Use:
    """Follow every block of ``recording``. O(blocks of all prompts)."""
    sent = sorted(_sent(recording), key=lambda request: request.time_s)  # stable: then in order of the trace
    block_size = recording.workload.block_size
    distinct = 1 + max((max(request.turn.blocks, default=-1) for request in sent), default=-1)
    last_use_s = np.full(distinct, -np.inf)
    hit_tokens: list[int] = []
    changes: list[Change] = []
    for time_s, turn in sent:
        blocks = np.asarray(turn.blocks, dtype=np.intp)
        before_s = last_use_s[blocks]
        known = int(np.count_nonzero(before_s > -np.inf))  # a block stands for its prefix: those lead
        hit_tokens.append(min(known, (turn.prompt_tokens - 1) // block_size) * block_size)
        idle = before_s + window_s < time_s
        changes.append(Change(time_s, int(np.count_nonzero(idle)) * block_size))
        changes.extend(_expiries(before_s[idle], window_s, block_size))
        last_use_s[blocks] = time_s
    changes.extend(_expiries(last_use_s, window_s, block_size))
    return Use(sent, hit_tokens, changes)


def live_changes(recording: Recording) -> Iterator[tuple[Change, Change]]:
    """How many sessions go on, and with how many tokens: from its first request to the end of its last.

    A session has the tokens of its latest prompt and answer. Requests of unknown time are not looked at.
    """
    for session, moments in zip(recording.workload.sessions, recording.moments, strict=True):
        held = 0
        ended_s: float | None = None
        for turn, moment in zip(session.turns, moments, strict=True):
            if moment.start_s is None:
                continue
            tokens = turn.prompt_tokens + turn.output_tokens
            yield Change(moment.start_s, ended_s is None), Change(moment.start_s, tokens - held)
            held = tokens
            ended_s = moment.start_s if moment.end_s is None else moment.end_s
        if ended_s is not None:
            yield Change(ended_s, -1), Change(ended_s, -held)


def _sent(recording: Recording) -> Iterator[Sent]:
    for session, moments in zip(recording.workload.sessions, recording.moments, strict=True):
        time_s = 0.0
        for turn, moment in zip(session.turns, moments, strict=True):
            time_s = time_s if moment.start_s is None else moment.start_s
            yield Sent(time_s, turn)


def _expiries(last_use_s: npt.NDArray[np.float64], window_s: float, block_size: int) -> Iterator[Change]:
    """When blocks that were used last at these times left the window; those never used (-inf) never came."""
    times_s, counts = np.unique(last_use_s[last_use_s > -np.inf], return_counts=True)
    for time_s, count in zip(times_s.tolist(), counts.tolist(), strict=True):
        yield Change(time_s + window_s, -count * block_size)
