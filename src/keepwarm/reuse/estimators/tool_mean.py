"""A call takes as long as its tool took on average.

Source: after InferCept (Abhyankar, He, Srivatsa, Zhang, Zhang, "InferCept: efficient intercept support for
augmented large language model inference", ICML 2024, arXiv 2402.01869), which weighs what an interception
wastes by how long it is expected to last. Taken: one expectation for each tool. Left out: its choice between
keeping, dropping and swapping by the memory wasted (the victim order only needs to know who comes back last).

A call that overran its mean is expected to run for as long again as it has: it never looks imminent.
"""

from __future__ import annotations

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators._remembered import ByTool, is_duration
from keepwarm.reuse.estimators.base import Estimator

LATEST_SHARE = 1 / 32  # of the newest duration in the mean, once 32 were seen


class _Mean:
    """A plain mean of the first 32, from there on a moving one."""

    __slots__ = ("count", "mean_s")

    def __init__(self) -> None:
        self.count = 0
        self.mean_s = 0.0

    def add(self, duration_s: float) -> None:
        self.count += 1
        self.mean_s += (duration_s - self.mean_s) * max(LATEST_SHARE, 1 / self.count)


class ToolMean(Estimator):
    """Moving averages by tool, learned while serving; of all calls for a tool never seen.

    "Unknown" until the first call ended, and for a session of which nobody said what it does.
    """

    name = "tool-mean"

    def __init__(self) -> None:
        self._by_tool: ByTool[_Mean] = ByTool(_Mean)
        self._all = _Mean()

    def remaining_s(self, session: SessionId, call: ToolCall | None, elapsed_s: float) -> float | None:
        """O(1)."""
        if call is None:
            return None
        mean = self._by_tool.get(call.tool) or self._all
        if not mean.count:
            return None
        left_s = mean.mean_s - elapsed_s
        return left_s if left_s > 0 else max(elapsed_s, mean.mean_s)

    def observe(self, call: ToolCall | None, duration_s: float) -> None:
        """Into the mean of its tool and that of all; what no tool did says nothing of tools."""
        if call is None or not is_duration(duration_s):
            return
        self._by_tool.heard_of(call.tool).add(duration_s)
        self._all.add(duration_s)
