"""A workload beside the times at which the recording says that it happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from keepwarm.trace.open import Trace
from keepwarm.workload.base import Workload


class Moment(NamedTuple):
    """When one request was sent and answered, in seconds; None where not recorded."""

    start_s: float | None
    end_s: float | None


class Recording(NamedTuple):
    """``moments[i][j]`` is when turn ``j`` of session ``i`` happened.

    On one clock, they count from the first request of the trace; else from the start of each session.
    """

    trace: Trace
    workload: Workload
    moments: Sequence[Sequence[Moment]]
