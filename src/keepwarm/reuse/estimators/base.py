"""What an estimator is: it says how long a tool call that runs for a while will still run."""

from __future__ import annotations

import abc
from typing import ClassVar

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall


class Estimator(abc.ABC):
    """Time left of the tool call of an idle session. Standard library only: it runs in the server."""

    name: ClassVar[str]

    @abc.abstractmethod
    def remaining_s(self, session: SessionId, call: ToolCall | None, elapsed_s: float) -> float | None:
        """Expected seconds until the session comes back, which has been idle for ``elapsed_s``.

        ``call`` is None if nobody said what it does. None for "unknown", never 0 for a call that runs longer
        than any did. Does not mutate; under 100 µs; never raises.
        """

    def stays_away(
        self, session: SessionId, call: ToolCall | None, elapsed_s: float, longer_s: float
    ) -> float | None:
        """How likely the session stays away for more than ``longer_s`` from now; None for "unknown".

        Durations of tools have heavy tails: what is expected says little about what is likely. Does not
        mutate; under 100 µs; never raises.
        """
        remaining_s = self.remaining_s(session, call, elapsed_s)
        return None if remaining_s is None else float(remaining_s > longer_s)

    def observe(self, call: ToolCall | None, duration_s: float) -> None:  # noqa: B027 - most do not learn
        """A call ended: its session came back. May mutate; O(1); never raises."""
