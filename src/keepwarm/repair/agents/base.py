"""What an agent is: it takes a task, is followed to a final state, and has something to show for it.

The order is ``submit``, ``follow``, ``collect``, within the agent as a context manager. One agent
carries out one assignment.
"""

from __future__ import annotations

import abc
import enum
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from keepwarm.repair.task import Task

SCHEMA = "keepwarm.agent-run/1"

Say = Callable[[str], None]
"""Takes one line about what is happening, for people."""


class Outcome(enum.StrEnum):
    """The final states; every one but ``DONE`` fails the run."""

    DONE = "done"
    NO_CHANGE = "no-change"  # it ended and left nothing: no pull request, no edit
    OUT_OF_SCOPE = "out-of-scope"  # it changed what the task does not allow
    BLOCKED = "blocked"  # it waits for an answer
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    SPENT = "spent"  # a cap on spending was reached
    FAILED = "failed"
    TIMED_OUT = "timed-out"


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """What is handed over: the task, its words, and the checkout that it is about."""

    task: Task
    sha256: str  # of the task, whatever its file's formatting
    prompt: str  # redacted; all that an agent is told
    repository: Path  # absolute; the top of the checkout
    prefix: str = ""  # the folder in it that paths of the task are relative to, with a slash at the end
    base_commit: str


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """A task under way: the agent's name for it, and where a person can look at it."""

    id: str
    url: str | None = None


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """The final state and what led to it, in one line."""

    outcome: Outcome
    reason: str


class AgentRun(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it: the document ``keepwarm.agent-run/1``. What is not known is None, never guessed."""

    schema: str = SCHEMA
    agent: str
    task: str
    task_sha256: str
    finding: str
    base_commit: str
    outcome: Outcome
    reason: str
    branch: str | None = None
    commit: str | None = None
    pull_request: str | None = None
    changed_files: tuple[str, ...] | None = None
    out_of_scope: tuple[str, ...] = ()
    cost_acus: float | None = None
    wall_s: float
    exit_status: int | None = None  # of a command; negative: the signal that ended it
    session: Submitted | None = None
    worktree: str | None = None  # kept, with the agent's log beside it
    log_tail: tuple[str, ...] = ()  # redacted


class Agent(abc.ABC):
    """Carries out one assignment. Leaving it as a context manager ends what would be left running here."""

    name: str

    @abc.abstractmethod
    def submit(self, assignment: Assignment) -> Submitted:
        """Hand the task over, or find again what an earlier call handed over. Mutates: work begins.

        Raises:
            InputError: it is not authorised, the agent or the checkout cannot be used.
            ServerError: the agent's service refuses, or it is not known whether it took the task.
        """

    @abc.abstractmethod
    def follow(self, submitted: Submitted, say: Say) -> Followed:
        """Wait for the final state, or until the time limit. Changes nothing but ends what ran too long here.

        Raises:
            ServerError: the agent's service cannot be asked any more; calling again goes on.
        """

    @abc.abstractmethod
    def collect(self, submitted: Submitted, followed: Followed) -> AgentRun:
        """What came of it. Mutates: may make a branch in the repository, never its checkout or index.

        Raises:
            InputError: what the agent left cannot be read or the branch not be made.
        """

    def close(self) -> None:
        """End what the agent started on this machine; never raises, may be called twice."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Clock:
    """Time as agents see it; tests have one that does not wait."""

    def now_s(self) -> float:
        """Seconds since some moment; never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
