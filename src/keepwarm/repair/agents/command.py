"""Any coding command of this machine, in a working tree of its own.

Not a sandbox: the command runs as the user, who chose it. What is done is what keeps an honest program
from doing harm by accident: no remote, git's transports off, no keys in the environment, a time limit
for all that it starts, and a look at the user's checkout before and after.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from keepwarm._errors import InputError
from keepwarm._files import write_whole
from keepwarm._text import counted, visible
from keepwarm.repair.agents.base import (
    Agent,
    AgentRun,
    Assignment,
    Clock,
    Followed,
    Outcome,
    Say,
    Submitted,
)
from keepwarm.repair.agents.checkout import Checkout, look_at
from keepwarm.repair.agents.child import Child
from keepwarm.repair.agents.git import Git
from keepwarm.repair.agents.scope import out_of_scope
from keepwarm.repair.agents.worktree import Snapshot, Worktree
from keepwarm.repair.redaction import Redactor

_KEPT = frozenset(
    {
        *("HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR"),
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"),
    }
)
_NO_PUSH = {
    "GIT_ALLOW_PROTOCOL": "none",  # neither push nor fetch, whatever remote the command may add
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "agent",
    "GIT_AUTHOR_EMAIL": "agent@localhost",
    "GIT_COMMITTER_NAME": "agent",
    "GIT_COMMITTER_EMAIL": "agent@localhost",
}
_PLACEHOLDER = "{task}"
_TAIL_LINES = 40
_LONGEST_LINE = 400


class CommandOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What runs, and how; ``branch`` is made in the repository if all went well."""

    command: str  # words as in a shell, but no shell runs; {task} is the file with the task
    limit_s: float = 1800.0
    pass_on: tuple[str, ...] = ()  # names of environment variables
    branch: str | None = None
    parent: Path | None = None  # where the worktree is made; None: the system's temporary folder
    keep: bool = True  # the worktree of a run that went well; of one that did not it is always kept
    grace_s: float = 5.0


class CommandAgent(Agent):
    """Runs one command on one task."""

    name = "command"

    def __init__(self, options: CommandOptions, clock: Clock | None = None) -> None:
        self._options = options
        self._words = _words(options.command)
        self._environment = reduced_environment(options.pass_on)
        self._clock = clock or Clock()
        self._assignment: Assignment
        self._before: Checkout
        self._worktree: Worktree
        self._child: Child | None = None
        self._started_s = 0.0

    def submit(self, assignment: Assignment) -> Submitted:
        self._assignment = assignment
        branch = self._branch()
        _check_branch(Git(assignment.repository), branch)
        self._before = look_at(assignment.repository)
        worktree = Worktree.make(assignment.repository, assignment.base_commit, branch, self._options.parent)
        self._worktree = worktree
        task_file = worktree.root / "task.md"
        given = [word.replace(_PLACEHOLDER, str(task_file)) for word in self._words]
        on_stdin = given == self._words
        self._started_s = self._clock.now_s()
        try:
            write_whole(task_file, assignment.prompt.encode("utf-8", "backslashreplace"))
            self._child = Child(
                given,
                folder=worktree.tree / assignment.prefix,
                environment={**self._environment, **_NO_PUSH, "PWD": str(worktree.tree / assignment.prefix)},
                stdin=task_file if on_stdin else Path(os.devnull),
            )
            self._child.start()  # known here by then: whoever is interrupted finds it to end it
        except InputError:
            worktree.remove()
            raise
        return Submitted(id=str(worktree.tree))

    def follow(self, submitted: Submitted, say: Say) -> Followed:
        assert self._child is not None
        say(f"{visible(self._words[0])} runs in {submitted.id}")
        in_time = self._child.wait(self._options.limit_s)
        status = self._child.end(self._options.grace_s)
        if not in_time:
            return Followed(
                outcome=Outcome.TIMED_OUT,
                reason=f"the command did not end within {self._options.limit_s:g} s and was ended",
            )
        if status:
            how = f"was ended by signal {-status}" if status < 0 else f"ended with exit status {status}"
            return Followed(outcome=Outcome.FAILED, reason=f"the command {how}")
        return Followed(outcome=Outcome.DONE, reason="the command ended")

    def collect(self, submitted: Submitted, followed: Followed) -> AgentRun:
        assert self._child is not None
        wall_s = self._clock.now_s() - self._started_s
        task, worktree, branch = self._assignment.task, self._worktree, self._branch()
        log_tail = self._write_log()
        try:
            left = worktree.snapshot(f"Repair {task.finding.id}: {task.finding.cause}\n\nTask {task.id}\n")
        except InputError as error:
            left = Snapshot(None, ())
            followed = Followed(outcome=Outcome.FAILED, reason=str(error))
        allowed = [self._assignment.prefix + path for path in task.allowed_files]
        outside = out_of_scope(left.changes, allowed)
        outside += look_at(self._assignment.repository).changed_since(self._before)
        followed = _judged(followed, left, outside)
        is_done = followed.outcome is Outcome.DONE
        if is_done and left.commit is not None:
            worktree.deliver(left.commit, branch)
            if not self._options.keep:
                worktree.remove()
        return AgentRun(
            agent=self.name,
            task=task.id,
            task_sha256=self._assignment.sha256,
            finding=task.finding.id,
            base_commit=self._assignment.base_commit,
            outcome=followed.outcome,
            reason=followed.reason,
            branch=branch if is_done else None,
            commit=left.commit if is_done else None,
            changed_files=tuple(change.path for change in left.changes),
            out_of_scope=outside,
            wall_s=round(wall_s, 3),
            exit_status=self._child.end(),
            worktree=submitted.id if self._options.keep or not is_done else None,
            log_tail=log_tail,
        )

    def close(self) -> None:
        if self._child is not None:
            self._child.end(self._options.grace_s)

    def _branch(self) -> str:
        task = self._assignment.task
        name = re.sub(r"[^A-Za-z0-9-]+", "-", f"{task.finding.id}-{self._assignment.sha256[:8]}").strip("-")
        return self._options.branch or f"keepwarm/{name}"

    def _write_log(self) -> tuple[str, ...]:
        """Redacted, beside the tree; its last lines."""
        assert self._child is not None
        raw = self._child.tail()
        text = raw.decode("utf-8", "replace")
        for name in self._options.pass_on:
            text = text.replace(os.environ[name], f"<{name}>") if os.environ[name] else text
        lines = Redactor().redact(text).splitlines()
        if len(raw) < self._child.output_bytes:
            cut = counted(self._child.output_bytes - len(raw), "byte")
            lines.insert(0, f"({cut} before this are left out)")
        lines = [visible(line) for line in lines]
        write_whole(self._worktree.root / "output.log", "".join(f"{line}\n" for line in lines).encode())
        return tuple(line[:_LONGEST_LINE] for line in lines[-_TAIL_LINES:])


def reduced_environment(pass_on: Sequence[str]) -> dict[str, str]:
    """What a program needs to run and to find its own settings, and the variables that are named.

    Raises:
        InputError: one that is named is not set.
    """
    for name in pass_on:
        if name not in os.environ:
            raise InputError(f"--env {name!r} is not set in the environment; set it, or leave it out")
    return {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith("LC_") or name in pass_on
    }


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"--command {command!r}: {error}; quote it as in a shell") from None
    if not words or "\0" in command:
        raise InputError(f"--command {command!r} names no program; give it as you would type it")
    return words


def _check_branch(git: Git, branch: str) -> None:
    if not git.succeeds("check-ref-format", "--branch", branch):
        raise InputError(f"--branch {branch!r} is no name for a branch; name another")
    if git.succeeds("show-ref", "--verify", "--quiet", f"refs/heads/{branch}"):
        raise InputError(
            f"branch {branch!r} is there already in {str(git.folder)!r}; delete it (git branch -D {branch}), "
            "or name another with --branch"
        )


def _judged(followed: Followed, left: Snapshot, outside: tuple[str, ...]) -> Followed:
    if followed.outcome is not Outcome.DONE:
        return followed
    if outside:
        shown = ", ".join(visible(path) for path in outside[:5]) + (", ..." if len(outside) > 5 else "")
        return Followed(
            outcome=Outcome.OUT_OF_SCOPE,
            reason=f"{counted(len(outside), 'change')} the task does not allow: {shown}",
        )
    if left.commit is None:
        return Followed(outcome=Outcome.NO_CHANGE, reason="the command ended and changed nothing")
    return Followed(outcome=Outcome.DONE, reason=f"{counted(len(left.changes), 'file')} changed")
