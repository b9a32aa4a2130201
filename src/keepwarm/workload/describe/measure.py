"""From a recording to its figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from keepwarm.workload.base import Trigger
from keepwarm.workload.describe.figures import (
    Distribution,
    Point,
    Reuse,
    Source,
    TraceFigures,
    Transfer,
    Triggers,
    WorkingSet,
)
from keepwarm.workload.describe.steps import Steps
from keepwarm.workload.describe.use import Use, follow, live_changes
from keepwarm.workload.recording import Moment, Recording

_POINTS = 200


def measure(
    recording: Recording, *, window_s: float, capacity_tokens: int | None, bytes_per_token: int | None
) -> TraceFigures:
    """All figures of one trace; a few seconds for sixteen million block ids."""
    trace, workload = recording.trace, recording.workload
    turns = [turn for session in workload.sessions for turn in session.turns]
    prefill = distribution(turn.prompt_tokens for turn in turns)
    decode = distribution(turn.output_tokens for turn in turns)
    footprint = distribution(
        max(turn.prompt_tokens + turn.output_tokens for turn in session.turns)
        for session in workload.sessions
    )
    use = follow(recording, window_s)
    return TraceFigures(
        input=Source(
            path=str(trace.path),
            sha256=trace.sha256,
            format=trace.format,
            sessions_known=trace.sessions_known,
            one_clock=trace.one_clock,
            skipped=tuple(workload.skipped),
        ),
        block_size=workload.block_size,
        sessions=len(workload.sessions),
        requests=len(turns),
        prefill_tokens=prefill,
        decode_tokens=decode,
        prefill_per_decode=prefill.total / decode.total,
        requests_per_session=distribution(len(session.turns) for session in workload.sessions),
        triggers=_triggers(recording),
        session_s=_distribution_if_any(_session_lengths_s(recording)),
        footprint_tokens=footprint,
        sessions_that_fit=None if capacity_tokens is None else int(capacity_tokens // footprint.p50),
        reuse=_reuse(use),
        transfer=_transfer(use, bytes_per_token),
        working_set=_working_set(recording, use, window_s, capacity_tokens),
    )


def distribution(values: Iterable[float]) -> Distribution:
    """Of one value at least; whole numbers stay whole."""
    ordered = sorted(values)
    last = len(ordered) - 1
    # Nearest rank: the smallest value that at least so many percent are not above.
    percentiles = tuple(ordered[max(0, -(-percent * len(ordered) // 100) - 1)] for percent in range(101))
    total = sum(ordered)
    return Distribution(
        count=len(ordered),
        total=total,
        mean=total / len(ordered),
        p50=percentiles[50],
        p90=percentiles[90],
        p99=percentiles[99],
        max=ordered[last],
        percentiles=percentiles,
    )


def _distribution_if_any(values: Sequence[float]) -> Distribution | None:
    return distribution(values) if values else None


def _triggers(recording: Recording) -> Triggers:
    gaps_s: dict[Trigger, list[float]] = {trigger: [] for trigger in Trigger}
    requests = dict.fromkeys(gaps_s, 0)
    with_answer = 0
    for session, moments in zip(recording.workload.sessions, recording.moments, strict=True):
        is_timed = all(moment.start_s is not None for moment in moments)
        for place, turn in enumerate(session.turns):
            requests[turn.trigger] += 1
            if place and is_timed:
                gaps_s[turn.trigger].append(turn.gap_s)
                with_answer += moments[place - 1].end_s is None
    tool, human = requests[Trigger.TOOL], requests[Trigger.HUMAN]
    return Triggers(
        tool_requests=tool,
        human_requests=human,
        unknown_requests=requests[Trigger.UNKNOWN],
        tool_per_human=tool / human if human else None,
        tool_gap_s=_distribution_if_any(gaps_s[Trigger.TOOL]),
        human_gap_s=_distribution_if_any(gaps_s[Trigger.HUMAN]),
        unknown_gap_s=_distribution_if_any(gaps_s[Trigger.UNKNOWN]),
        gaps_with_answer=with_answer,
    )


def _session_lengths_s(recording: Recording) -> list[float]:
    """From the first request to the end of the last answer, where one says so, of sessions of several."""
    return [
        length_s
        for moments in recording.moments
        if len(moments) > 1 and (length_s := _length_s(moments)) is not None
    ]


def _length_s(moments: Sequence[Moment]) -> float | None:
    known = [time_s for time_s in chain.from_iterable(moments) if time_s is not None]
    return None if moments[0].start_s is None else max(known) - moments[0].start_s


def _reuse(use: Use) -> Reuse:
    prompts = [request.turn.prompt_tokens for request in use.sent]
    hits = use.hit_tokens
    return Reuse(
        hit_tokens=sum(hits),
        hit_rate=sum(hits) / sum(prompts),
        hit_share=distribution(hit / prompt for hit, prompt in zip(hits, prompts, strict=True)),
        computed_tokens=distribution(prompt - hit for hit, prompt in zip(hits, prompts, strict=True)),
    )


def _transfer(use: Use, bytes_per_token: int | None) -> Transfer:
    read = distribution(use.hit_tokens)
    written = distribution(
        request.turn.prompt_tokens - hit + request.turn.output_tokens
        for request, hit in zip(use.sent, use.hit_tokens, strict=True)
    )
    return Transfer(
        read_tokens=read,
        written_tokens=written,
        read_bytes=None if bytes_per_token is None else int(read.total) * bytes_per_token,
        written_bytes=None if bytes_per_token is None else int(written.total) * bytes_per_token,
    )


def _working_set(
    recording: Recording, use: Use, window_s: float, capacity_tokens: int | None
) -> WorkingSet | None:
    """None where the trace covers no time."""
    start_s, end_s = use.sent[0].time_s, use.sent[-1].time_s
    if end_s <= start_s:
        return None
    window = Steps(use.changes, start_s, end_s)
    changes = list(live_changes(recording))
    sessions = Steps((change for change, _ in changes), start_s, end_s)
    tokens = Steps((change for _, change in changes), start_s, end_s)
    times_s = np.linspace(start_s, end_s, _POINTS)
    columns = (times_s, window.at(times_s), tokens.at(times_s))
    return WorkingSet(
        window_s=window_s,
        length_s=end_s - start_s,
        peak_tokens=window.peak,
        mean_tokens=window.mean,
        above_capacity=None if capacity_tokens is None else window.share_above(capacity_tokens),
        peak_live_sessions=sessions.peak,
        peak_live_tokens=tokens.peak,
        mean_live_tokens=tokens.mean,
        live_above_capacity=None if capacity_tokens is None else tokens.share_above(capacity_tokens),
        points=tuple(
            Point(time_s=time_s, window_tokens=used, live_tokens=held)
            for time_s, used, held in zip(*(column.tolist() for column in columns), strict=True)
        ),
    )
