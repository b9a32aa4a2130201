"""The figures of a workload: tokens of prompts (prefill) and answers (decode), and recorded times."""

from __future__ import annotations

import msgspec

SCHEMA = "keepwarm.sessions/1"


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """A figure over requests, gaps or sessions.

    ``percentiles`` are those from 0 to 100, each a value that occurs (nearest rank); the rest is for reading.
    """

    count: int
    total: float
    mean: float
    p50: float
    p90: float
    p99: float
    max: float
    percentiles: tuple[float, ...]


class Triggers(msgspec.Struct, frozen=True, kw_only=True):
    """Requests by what made the session send them, and what passed since the answer before, in seconds.

    The first request of a session counts, and has no gap. ``gaps_with_answer``: gaps that hold the answer
    before too, because its end is not recorded.
    """

    tool_requests: int
    human_requests: int
    unknown_requests: int
    tool_per_human: float | None
    tool_gap_s: Distribution | None
    human_gap_s: Distribution | None
    unknown_gap_s: Distribution | None
    gaps_with_answer: int


class Reuse(msgspec.Struct, frozen=True, kw_only=True):
    """What a cache that loses nothing would hit, one request after another in order of time (simulated)."""

    hit_tokens: int
    hit_rate: float
    hit_share: Distribution  # of each prompt
    computed_tokens: Distribution  # of each prompt


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """KV that moves if it is kept anywhere but in the GPU, with such a cache (simulated).

    ``read_tokens`` are the hits of each request, ``written_tokens`` what it computed: prompt and answer.
    Bytes are of all requests, None where the model is not known.
    """

    read_tokens: Distribution
    written_tokens: Distribution
    read_bytes: int | None
    written_bytes: int | None


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """The workload at one time. ``live_tokens``: the last prompts and answers of the sessions that go on."""

    time_s: float
    window_tokens: int
    live_tokens: int


class WorkingSet(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens in use over time, each block once: those that prompts asked for in the last ``window_s``.

    Means and shares are over time, from the first request to the last; ``above_capacity`` is the share of it
    in which they exceed the capacity. ``points`` are evenly spaced.
    """

    window_s: float
    length_s: float
    peak_tokens: int
    mean_tokens: float
    above_capacity: float | None
    peak_live_sessions: int
    peak_live_tokens: int
    mean_live_tokens: float
    live_above_capacity: float | None
    points: tuple[Point, ...]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The trace. ``sessions_known``: it names sessions; else each request is one.

    ``one_clock``: times of all sessions are comparable; else all count from their own start.
    """

    path: str
    sha256: str
    format: str
    sessions_known: bool
    one_clock: bool
    skipped: tuple[str, ...]


class TraceFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One trace. ``footprint_tokens``: the longest prompt and answer of each session, what holds all of it.

    ``sessions_that_fit``: sessions of the median footprint that the capacity holds, None without one.
    """

    input: Source
    block_size: int
    sessions: int
    requests: int
    prefill_tokens: Distribution
    decode_tokens: Distribution
    prefill_per_decode: float
    requests_per_session: Distribution
    triggers: Triggers
    session_s: Distribution | None
    footprint_tokens: Distribution
    sessions_that_fit: int | None
    reuse: Reuse
    transfer: Transfer
    working_set: WorkingSet | None


class ToolTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of one tool, or of one kind. A quantile that falls on a call that was cut off is None: longer."""

    tool: str
    kind: str | None
    calls: int
    cut_off: int
    mean_s: float  # cut-off calls with the time until then
    p50_s: float | None
    p90_s: float | None
    p99_s: float | None


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """Times of tool calls. ``source``: the file, or None for those of the trace itself.

    ``by_kind`` are ``clusters`` of a fitted model or ``programs``, most calls first; calls of none are left
    out. Kinds of fewer than ``min_calls`` are one at the end, without a name.
    """

    source: str | None
    kinds: str
    calls: int
    cut_off: int
    min_calls: int
    by_tool: tuple[ToolTimes, ...]
    by_kind: tuple[ToolTimes, ...]


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """All that is said. ``bytes_per_token``: KV of the whole model, None where none was named."""

    capacity_tokens: int | None
    bytes_per_token: int | None
    trace: TraceFigures
    beside: TraceFigures | None
    tools: Tools | None
