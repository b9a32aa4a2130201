"""A session is kept for a time to live after its request ended, and then no longer.

Source: after Continuum (Li, Mang, He, Zhang, Mao, Chen, Zhou, Cheung, Gonzalez, Stoica, "Continuum:
efficient and robust multi-turn LLM agent scheduling with KV cache time-to-live", 2025, arXiv 2511.02230).
Taken: the time to live depends on the tool, is chosen from the durations observed so far, and weighs what
an eviction costs (recomputing, and queueing for it) against holding memory in vain. Of all observed
durations t the one is chosen that maximises

    F(t) × eviction_cost_s − E[min(T, t)]

that is the chance to be back in time, in seconds saved, less the seconds that the blocks are held for; or
none, if no t pays. A tool with fewer than 8 durations uses those of all tools. Until there are as many,
sessions live for ``eviction_cost_s``: that costs at most twice what knowing better would.

Left out: a cost for each session (here one figure stands for reload and queueing, whatever the context's
length), pinning (a server whose memory is all pinned takes victims here in any case), first come first
served by program (that is a queue order), and offloading.
"""

from __future__ import annotations

from collections import deque

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators._remembered import ByTool, is_duration
from keepwarm.reuse.estimators.base import Estimator

EVICTION_COST_S = 30.0
LEAST_DURATIONS = 8
MOST_DURATIONS = 128  # remembered for each tool, the latest
EXPIRED_S = 1e9  # behind every session that is still alive


class _Durations:
    """The latest durations, and the time to live that they speak for; chosen anew after some more came."""

    __slots__ = ("count", "latest_s", "ttl_s")

    def __init__(self) -> None:
        self.count = 0
        self.latest_s: deque[float] = deque(maxlen=MOST_DURATIONS)
        self.ttl_s = 0.0

    @property
    def is_enough(self) -> bool:
        return self.count >= LEAST_DURATIONS

    def add(self, duration_s: float, eviction_cost_s: float) -> None:
        self.count += 1
        self.latest_s.append(duration_s)
        if self.count % LEAST_DURATIONS == 0:
            self.ttl_s = best_ttl_s(self.latest_s, eviction_cost_s)


def best_ttl_s(durations_s: deque[float], eviction_cost_s: float) -> float:
    """The time to live of the formula above, the shortest of equal ones. O(n log n)."""
    count, ended_s = len(durations_s), 0.0
    best_s = best_gain_s = 0.0
    for ended, duration_s in enumerate(sorted(durations_s), 1):
        ended_s += duration_s
        held_s = (ended_s + (count - ended) * duration_s) / count
        gain_s = ended / count * eviction_cost_s - held_s
        if gain_s > best_gain_s:
            best_s, best_gain_s = duration_s, gain_s
    return best_s


class Ttl(Estimator):
    """Times to live by tool, learned while serving; ``eviction_cost_s`` is what an eviction costs a session.

    What is left of the time to live stands for what is left of the call. A session that outlived it comes
    before all that did not, the longest idle first, and so does one of which nobody said what it does.
    """

    name = "ttl"

    def __init__(self, eviction_cost_s: float = EVICTION_COST_S) -> None:
        self._eviction_cost_s = eviction_cost_s
        self._by_tool: ByTool[_Durations] = ByTool(_Durations)
        self._all = _Durations()

    def ttl_s(self, tool: str) -> float:
        """How long a session that calls ``tool`` is kept from now on. Does not mutate; O(1)."""
        for durations in (self._by_tool.get(tool), self._all):
            if durations is not None and durations.is_enough:
                return durations.ttl_s
        return self._eviction_cost_s

    def remaining_s(self, session: SessionId, call: ToolCall | None, elapsed_s: float) -> float | None:
        """O(1)."""
        left_s = 0.0 if call is None else self.ttl_s(call.tool) - elapsed_s
        return left_s if left_s > 0 else EXPIRED_S + elapsed_s

    def observe(self, call: ToolCall | None, duration_s: float) -> None:
        """Into the durations of its tool and of all; O(1), as no more than ``MOST_DURATIONS`` are kept."""
        if call is None or not is_duration(duration_s):
            return
        self._by_tool.heard_of(call.tool).add(duration_s, self._eviction_cost_s)
        self._all.add(duration_s, self._eviction_cost_s)
