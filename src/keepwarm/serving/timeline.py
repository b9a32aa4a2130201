"""What happened to each session of a run over time: for a picture of it, and for whoever wants the times.

All of it is simulated.
"""

from __future__ import annotations

import msgspec

SCHEMA = "keepwarm.serving-timeline/1"


class SessionTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """One session; lists have an entry a request, in order, seconds from the start of the run.

    A request waits from ``arrival_s`` to ``admitted_s``, prefills to ``first_token_s``, decodes to ``end_s``.
    Of ``prompt_tokens``, ``hit_tokens`` were in the cache when it was first admitted. ``recomputed_tokens``
    are of blocks that had been cached before and were computed again, ``reloaded_tokens`` came from host
    memory; both are of full blocks, answers and what followed a preemption included, and add up over
    sessions to what the run's row counts. ``gap``: what the session did after the answer: the name of a
    tool (``tool`` where nobody named it), ``human``, ``unknown``, or ``end`` for the last. Sessions that are
    not ``measured`` are in no figure of the row; of theirs, requests that the end of the run cut off are
    left out.
    """

    id: str
    measured: bool = True
    arrival_s: list[float]
    admitted_s: list[float]
    first_token_s: list[float]
    end_s: list[float]
    prompt_tokens: list[int]
    hit_tokens: list[int]
    recomputed_tokens: list[int]
    reloaded_tokens: list[int]
    output_tokens: list[int]
    preemptions: list[int]
    gap: list[str]


class WorkingSet(msgspec.Struct, frozen=True, kw_only=True):
    """Over time: ``wanted_tokens`` is what all live sessions would hold, ``cached_tokens`` what is there.

    A live session wants the full blocks of its latest request, from its arrival on those of the prompt and
    then those of the answer as they fill, until it ends; blocks of several sessions count once. What host
    memory holds is not cached. ``waiting`` and ``running`` count requests. Points are events (an arrival, an
    end of a step at which somebody was admitted, sampled, preempted or ended), at most ``MOST_POINTS`` of
    them: of each stretch of time the extremes of all four are kept.
    """

    at_s: list[float]
    wanted_tokens: list[int]
    cached_tokens: list[int]
    waiting: list[int]
    running: list[int]


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The document: one run under one queue order and one eviction.

    ``makespan_s`` is the row's, and counts from ``measured_from_s``, the first start of a measured session.
    """

    schema: str = SCHEMA
    trace_sha256: str
    scheduling: str
    eviction: str
    profile: str
    seed: int
    capacity_tokens: int  # M
    block_size: int
    step_tokens: int
    makespan_s: float
    session_completion_s: float  # the mean over measured sessions of their summed request latencies
    measured_from_s: float = 0.0
    population: str = "together"
    gap_scale: float = 1.0
    host_memory_gib: float = 0.0
    sessions: list[SessionTimeline]
    working_set: WorkingSet
