"""Work on demand: simulating the recorded requests with some of their prompts laid out otherwise."""

from __future__ import annotations

from typing import Literal

import msgspec

from keepwarm.diagnose.reorder import ReorderCall, ReorderResult

State = Literal["waiting", "running", "done", "failed", "cancelled"]


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
