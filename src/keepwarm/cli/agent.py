"""``keepwarm task run``: a task carried out by Devin, or by any coding command of this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from keepwarm._errors import InputError
from keepwarm.cli import agent_options as given
from keepwarm.cli import options as shared
from keepwarm.cli.output import write_bytes, write_error, write_text

if TYPE_CHECKING:
    from keepwarm.repair.agents.base import Agent, AgentRun

_ORGANISATION_VARIABLE = "DEVIN_ORG_ID"
_DEVIN_LIMIT_S, _COMMAND_LIMIT_S = 7200.0, 1800.0


def command(
    task: given.TaskFile,
    repo: given.Repo,
    agent: given.AgentName,
    time_limit_s: given.TimeLimit = None,
    command: given.CommandLine = None,
    env: given.Env = None,
    branch: given.Branch = None,
    worktrees: given.Worktrees = None,
    remove_worktree: given.RemoveWorktree = False,
    authorize: given.Authorize = None,
    max_acu_limit: given.MaxAcuLimit = None,
    api: given.Api = None,
    organisation: given.Organisation = None,
    api_url: given.ApiUrl = "https://api.devin.ai",
    remote: given.Remote = "origin",
    state: given.State = None,
    attempt: given.Attempt = 1,
    json: shared.Json = False,
) -> None:
    """Have a task carried out, and say what came of it: a branch or a pull request, and what changed.

    Exit 1 if it was not carried out within the task's scope. Nothing is merged, and the checkout of --repo
    is not touched. 'keepwarm verify' proves the result.
    """
    from keepwarm._interrupts import terminated_as_interrupted
    from keepwarm.repair.agents.run import carry_out, gate, read_assignment

    if agent == "devin":
        _refuse(agent, {"--command": command, "--env": env, "--branch": branch, "--worktrees": worktrees})
        chosen = _devin(
            state,
            authorize=authorize,
            max_acu_limit=max_acu_limit,
            version=api,
            organisation=organisation,
            api_url=api_url,
            remote=remote,
            attempt=attempt,
            limit_s=time_limit_s or _DEVIN_LIMIT_S,
        )
    else:
        _refuse(agent, {"--authorize": authorize, "--max-acu-limit": max_acu_limit, "--api": api})
        _refuse(agent, {"--organisation": organisation, "--state": state})
        limit_s = time_limit_s or _COMMAND_LIMIT_S
        chosen = _command(command, env, branch, worktrees, keep=not remove_worktree, limit_s=limit_s)
    assignment = read_assignment(task, repo)
    with terminated_as_interrupted():
        run = carry_out(chosen, assignment, write_error)
    _show(run, json=json)
    gate(run)


def _devin(
    state: Path | None,
    *,
    authorize: str | None,
    max_acu_limit: int | None,
    version: str | None,
    organisation: str | None,
    api_url: str,
    remote: str,
    attempt: int,
    limit_s: float,
) -> Agent:
    from keepwarm.repair.agents.devin import DevinAgent, DevinOptions
    from keepwarm.repair.agents.ledger import Ledger, default_folder

    if max_acu_limit is None:
        raise InputError(
            "--agent devin costs money: say how much it may spend with --max-acu-limit N (ACUs); no default"
        )
    options = DevinOptions(
        authorize=authorize,
        max_acu_limit=max_acu_limit,
        version=version,
        organisation=organisation or os.environ.get(_ORGANISATION_VARIABLE) or None,
        api_url=api_url,
        remote=remote,
        limit_s=limit_s,
        attempt=attempt,
    )
    return DevinAgent(options, Ledger(state or default_folder()))


def _command(
    command: str | None,
    env: list[str] | None,
    branch: str | None,
    worktrees: Path | None,
    *,
    keep: bool,
    limit_s: float,
) -> Agent:
    from keepwarm.repair.agents.command import CommandAgent, CommandOptions

    if command is None:
        raise InputError("--agent command needs the program to run; give --command 'CLI --its-options'")
    options = CommandOptions(
        command=command,
        limit_s=limit_s,
        pass_on=tuple(env or ()),
        branch=branch,
        parent=worktrees,
        keep=keep,
    )
    return CommandAgent(options)


def _refuse(agent: str, given: dict[str, object]) -> None:
    """What is meant for the other agent is a mistake, never ignored."""
    for option, value in given.items():
        if value is not None:
            raise InputError(f"{option} is not for --agent {agent}; leave it out")


def _show(run: AgentRun, *, json: bool) -> None:
    from keepwarm._json import plain, to_json
    from keepwarm._text import visible

    if json:
        write_bytes(to_json(plain(run)))
        return
    files = None if run.changed_files is None else ", ".join(map(visible, run.changed_files)) or "none"
    cost = None if run.cost_acus is None else f"{run.cost_acus:g} ACUs"
    session = None if run.session is None else run.session.url or run.session.id
    shown = {
        "task": f"{run.task} ({run.task_sha256[:12]})",
        "outcome": f"{run.outcome}: {run.reason}",
        "branch": run.branch,
        "commit": run.commit,
        "pull request": run.pull_request,
        "changed files": files,
        "not allowed": ", ".join(map(visible, run.out_of_scope)) or None,
        "exit status": run.exit_status,
        "cost": cost,
        "session": session,
        "worktree": run.worktree,
    }
    write_text("".join(f"{name}: {value}\n" for name, value in shown.items() if value is not None))
