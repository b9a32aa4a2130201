"""From finished rows to the record of a run."""

from __future__ import annotations

import hashlib
from collections import Counter as CounterOf
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keepwarm.replay.measuring.counting import contradictions, first_wave_least_cached_tokens
from keepwarm.replay.measuring.facts import client_facts
from keepwarm.replay.measuring.journal import Head, rises
from keepwarm.replay.measuring.options import ReplayOptions
from keepwarm.replay.measuring.plan import Plan, template_text
from keepwarm.replay.measuring.record import (
    Conditions,
    Counted,
    Failure,
    Reset,
    Resumed,
    Row,
    Run,
    Times,
    Tokens,
)


class Measured(NamedTuple):
    """What the sending left: finished rows in the order they ended, and the counters after them."""

    label: str
    head: Head
    rows: tuple[Row, ...]
    wall_s: float
    interruptions: int
    kept_requests: int
    after: dict[str, int]
    plugin_after: dict[str, float]
    end_mode: str


class Summed(NamedTuple):
    """A run and its rows, in recorded order."""

    run: Run
    rows: tuple[Row, ...]


def conditions_of(options: ReplayOptions) -> Conditions:
    """How it is sent."""
    template = template_text(options.chat_template)
    return Conditions(
        mode=options.mode,
        concurrency=options.concurrency or 1,
        max_tokens=options.max_tokens,
        limit=options.limit,
        seed=options.seed,
        tool_choice=options.tool_choice,
        chat_template_sha256=None if template is None else hashlib.sha256(template.encode()).hexdigest(),
        keep_text=options.keep_text,
    )


def summed(plan: Plan, measured: Measured) -> Summed:
    """The record, and every request's row, those not sent among them."""
    done = {row.index: row for row in measured.rows}
    rows = tuple(done.get(entry.row.index, entry.row) for entry in plan.entries)
    ok = [row for row in rows if row.status == "ok"]
    tokens = _tokens(ok)
    head = measured.head
    counters = rises(head.before, measured.after)
    run = Run(
        label=measured.label,
        started=head.started,
        wall_s=measured.wall_s,
        input=plan.input,
        conditions=head.conditions,
        server=head.server,
        client=client_facts(),
        reset=Reset(
            state="reset" if head.reset else "skipped",
            first_wave_least_cached_tokens=first_wave_least_cached_tokens(rows),
        ),
        resumed=Resumed(
            interruptions=measured.interruptions,
            kept_requests=measured.kept_requests,
            restarts=head.restarts,
        ),
        requests=_counted(rows),
        tokens=tokens,
        hit_rate=tokens.cached / tokens.prompt if tokens.prompt else 0.0,
        ttft_s=_times([row.ttft_s for row in ok if row.ttft_s is not None]),
        total_s=_times([row.total_s for row in ok if row.total_s is not None]),
        counters=counters,
        plugin_counters=_before_and_after(measured),
        failures=_failures(rows),
        inconsistencies=(*contradictions(counters, rows), *_changed_mode(measured)),
    )
    return Summed(run, rows)


def _counted(rows: Sequence[Row]) -> Counted:
    by_status = CounterOf(row.status for row in rows)
    return Counted(ok=by_status["ok"], failed=by_status["failed"], not_sent=by_status["not-sent"])


def _tokens(ok: Sequence[Row]) -> Tokens:
    return Tokens(
        prompt=sum(row.prompt_tokens or 0 for row in ok),
        cached=sum(row.cached_tokens or 0 for row in ok),
        output=sum(row.output_tokens or 0 for row in ok),
    )


def _before_and_after(measured: Measured) -> dict[str, tuple[float, float]]:
    """The plugin's counters that both scrapes have."""
    before, after = measured.head.plugin_before, measured.plugin_after
    return {name: (value, after[name]) for name, value in before.items() if name in after}


def _changed_mode(measured: Measured) -> Iterator[str]:
    """That the plugin's mode at the end is another than at the start, if it is."""
    mode = measured.head.server.mode
    if measured.end_mode != mode:
        yield f"the plugin went from mode {mode!r} to {measured.end_mode!r} while the run lasted"


def _failures(rows: Sequence[Row]) -> tuple[Failure, ...]:
    reasons = CounterOf(row.error or "" for row in rows if row.status != "ok")
    return tuple(Failure(reason=reason, requests=n) for reason, n in reasons.most_common())


def _times(seconds: list[float]) -> Times | None:
    if not seconds:
        return None
    p50, p90, p99 = np.percentile(seconds, (50, 90, 99)).tolist()
    return Times(p50=p50, p90=p90, p99=p99)
