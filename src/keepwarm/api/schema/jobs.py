"""Work on demand: simulating the recorded requests with some of their prompts laid out otherwise."""

from __future__ import annotations

from typing import Literal

import msgspec

State = Literal["waiting", "running", "done", "failed", "cancelled"]


class Move(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Put a slot (by its id) before a piece of the template; the number of pieces: behind all of them."""

    slot: str
    before_piece: int


class ReorderCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to simulate at one call site: fixes of findings, moves of slots, or both."""

    call_site: str
    findings: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """Simulated."""

    prompt_tokens: int
    hit_tokens: int
    hit_rate: float


class ReorderResult(msgspec.Struct, frozen=True, kw_only=True):
    """The same requests, as recorded and as laid out anew: at the call site, and in the whole trace."""

    call_site_before: Tally
    call_site_after: Tally
    trace_before: Tally
    trace_after: Tally
    changed_requests: int


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One simulation. ``done`` of ``total`` is the progress of ``stage``; ``total`` 0: unknown.

    An event of the stream ``/api/jobs/{id}/events`` holds a Job as its data and ``job`` as its name; the
    stream ends with the job.
    """

    id: str
    diagnosis: str
    call: ReorderCall
    state: State
    stage: str = ""
    done: int = 0
    total: int = 0
    result: ReorderResult | None = None
    problem: str | None = None
