"""What a reader of tool durations is.

To add a format: copy the smallest neighbour (``swe_agent.py``) and list it in ``durations/__init__.py``.
"""

from __future__ import annotations

import abc
import math
from collections import Counter
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from keepwarm.reuse.calls import ToolCall, joined
from keepwarm.trace.records import JsonObject


class ToolDuration(NamedTuple):
    """A call that ended after ``duration_s``, or, if ``cut_off``, one that was still running then.

    Calls that one answer asks for side by side are one call (``joined``), which lasts until the last of them
    has ended: that is what the session waits for.
    """

    call: ToolCall
    duration_s: float
    task: str  # calls of one task repeat: training and test are split by it
    cut_off: bool = False


class DurationReader(abc.ABC):
    """One pass over the records of a file. The class docstring is the documentation of the format."""

    name: ClassVar[str]

    def __init__(self, file_name: str) -> None:
        self.file_name = file_name
        self.left_out: Counter[str] = Counter()  # calls that cannot be used, by the reason

    @staticmethod
    @abc.abstractmethod
    def owns(record: JsonObject) -> bool:
        """Whether a record is of this format, from its content alone. Never raises."""

    @abc.abstractmethod
    def read(self, record: JsonObject) -> Iterable[ToolDuration]:
        """Durations that this record completes. Mutates; what is odd in it is counted, never raised."""

    def finish(self) -> Iterable[ToolDuration]:
        """Durations that were held back, at the end of the file. Mutates: call it once."""
        return ()

    def usable(self, duration: ToolDuration | None) -> Iterable[ToolDuration]:
        """The duration, unless it is none; then it is counted. Mutates."""
        if duration is None:
            self.left_out["no time of the call or of its result"] += 1
        elif not 0.0 <= duration.duration_s < math.inf:
            self.left_out["ended before it began"] += 1
        else:
            yield duration


class _Asked(NamedTuple):
    task: str
    calls: dict[str, ToolCall]  # by the id of the call
    times_s: list[float | None]


class Batches:
    """Calls as they are asked for, by the answer that asks, and the times of their results."""

    def __init__(self) -> None:
        self._asked: dict[str, _Asked] = {}
        self._ended: dict[str, float | None] = {}

    def ask(self, answer: str, task: str, call_id: str, call: ToolCall, time_s: float | None) -> None:
        """An answer asks for a call. Mutates."""
        asked = self._asked.setdefault(answer, _Asked(task, {}, []))
        asked.calls[call_id] = call
        asked.times_s.append(time_s)

    def end(self, call_id: str, time_s: float | None) -> None:
        """The result of a call is there; the first one counts. Mutates."""
        self._ended.setdefault(call_id, time_s)

    def drop(self, call_id: str) -> None:
        """A call did not run: a person refused it. Mutates."""
        self._ended[call_id] = None

    def durations(self) -> Iterable[ToolDuration | None]:
        """One for each answer all of whose calls have results, in order; None where a time is missing."""
        for asked in self._asked.values():
            if not asked.calls.keys() <= self._ended.keys():
                continue  # still running when the file ends
            ends = [self._ended[call_id] for call_id in asked.calls]
            times = [*asked.times_s, *ends]
            call = joined(list(asked.calls.values()))
            if call is None or any(time_s is None for time_s in times):
                yield None
                continue
            began_s = max(time_s for time_s in asked.times_s if time_s is not None)
            ended_s = max(time_s for time_s in ends if time_s is not None)
            yield ToolDuration(call, ended_s - began_s, asked.task)
