"""What happened to each session of a run over time: for a picture of it, and for whoever wants the times.

All of it is simulated.
"""

from __future__ import annotations

import msgspec

SCHEMA = "keepwarm.serving-timeline/1"


class SessionTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """One session; lists have an entry a request, in order, seconds from the start of the run.

    A request waits from ``arrival_s`` to ``admitted_s``, prefills to ``first_token_s``, decodes to ``end_s``.
    Of ``prompt_tokens``, ``hit_tokens`` were in the cache; ``recomputed_tokens`` had been in it, were evicted
    and were computed again, ``reloaded_tokens`` came from host memory. ``gap``: what the session did after
    the answer: the name of a tool, ``human``, ``unknown``, or ``end`` for the last.
    """

    id: str
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
    """Over time: ``wanted_tokens`` is what all live sessions would hold, ``cached_tokens`` what of it is there.

    ``waiting`` and ``running`` count requests.
    """

    at_s: list[float]
    wanted_tokens: list[int]
    cached_tokens: list[int]
    waiting: list[int]
    running: list[int]


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The document: one run under one queue order and one eviction."""

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
    session_completion_s: float  # the mean over sessions of their summed request latencies
    sessions: list[SessionTimeline]
    working_set: WorkingSet
