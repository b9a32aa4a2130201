"""What a file says of tool calls: how long each ran, and what it does not say."""

from __future__ import annotations

from typing import NamedTuple

from keepwarm.reuse.calls import ToolCall


class ToolDuration(NamedTuple):
    """A call that ended after ``duration_s``, or, if ``cut_off``, one that was still running then."""

    call: ToolCall
    duration_s: float
    task: str  # calls of one task repeat: training and test are split by it
    cut_off: bool = False
