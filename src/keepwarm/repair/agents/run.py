"""One task from its file to its result, whoever carries it out."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import msgspec

from keepwarm._errors import GateRefusal, InputError
from keepwarm._json import decoded
from keepwarm.repair.agents.base import Agent, AgentRun, Assignment, Outcome, Say
from keepwarm.repair.agents.git import Git
from keepwarm.repair.markdown import to_markdown
from keepwarm.repair.redaction import Redactor
from keepwarm.repair.task import SCHEMA, Task

_MOST_TASK_BYTES = 16 << 20
_WITHIN = "\nPaths in this task are relative to the folder `{prefix}` of the repository.\n"
_DIGEST = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_RULES = """\
You are asked to repair one thing in this repository, and nothing else. The task is below.

- Change only the files that the task allows, and as little as the repair needs.
- Do not delete, skip or weaken tests, and do not edit generated or recorded files.
- Do not push to an existing branch, and do not merge.
- If the task cannot be done within these rules, change nothing and say why.

"""


def read_assignment(task_file: Path, repository: Path) -> Assignment:
    """The task in ``task_file``, for the checkout ``repository``. Reads both, changes nothing.

    Raises:
        InputError: either cannot be used, or the commit that the task is about is not there.
    """
    task = _read_task(task_file)
    if not task.allowed_files:
        raise InputError(f"task {task.id!r} allows no file to be changed; export it again with --allow PATH")
    git = Git(repository)
    prefix = git.prefix()
    return Assignment(
        task=task,
        sha256=hashlib.sha256(msgspec.json.encode(task)).hexdigest(),
        prompt=prompt_of(task) + (_WITHIN.format(prefix=prefix) if prefix else ""),
        repository=git.top_level(),
        prefix=prefix,
        base_commit=git.commit(task.base_commit or "HEAD"),
    )


def prompt_of(task: Task) -> str:
    """All that an agent is told. The task is redacted already; it is looked over once more.

    Its digests look like keys, and stay.
    """
    redactor = Redactor()
    digests = {text for text in (task.trace_sha256, task.base_commit) if text and _DIGEST.fullmatch(text)}
    if not digests:
        return _RULES + redactor.redact(to_markdown(task))
    parts = re.split(f"({'|'.join(digests)})", to_markdown(task))
    return _RULES + "".join(part if part in digests else redactor.redact(part) for part in parts)


def carry_out(agent: Agent, assignment: Assignment, say: Say) -> AgentRun:
    """Submit, follow, collect. Raises what these raise; whatever runs on this machine is ended."""
    with agent:
        submitted = agent.submit(assignment)
        if submitted.url is not None:
            say(f"{agent.name} works at {submitted.url}")
        return agent.collect(submitted, agent.follow(submitted, say))


def gate(run: AgentRun) -> None:
    """Raises GateRefusal, with what to do next, unless the run ended well."""
    if run.outcome is Outcome.DONE:
        return
    place = run.session.url if run.session is not None and run.session.url else run.worktree
    look = f"; look at {place}" if place else ""
    raise GateRefusal(f"task {run.task!r}: {run.outcome}: {run.reason}{look}")


def _read_task(path: Path) -> Task:
    try:
        if path.stat().st_size > _MOST_TASK_BYTES:
            raise InputError(f"{str(path)!r} is larger than {_MOST_TASK_BYTES >> 20} MiB; name a task.json")
        raw = path.read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise InputError(
            f"cannot read {str(path)!r}: {reason}; name the task.json of 'keepwarm task export'"
        ) from None
    try:
        return decoded(raw, Task, SCHEMA)
    except msgspec.DecodeError as error:
        raise InputError(
            f"{str(path)!r} is no task: {error}; name the task.json of 'keepwarm task export', "
            "or export the task again"
        ) from None
