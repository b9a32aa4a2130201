"""``keepwarm task run``: a task carried out by Devin, or by any coding command of this machine."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from keepwarm._errors import InputError
from keepwarm.cli import options as shared
from keepwarm.cli.output import write_bytes, write_error, write_text

if TYPE_CHECKING:
    from keepwarm.repair.agents.base import Agent, AgentRun

_ORGANISATION_VARIABLE = "DEVIN_ORG_ID"
_DEVIN_LIMIT_S, _COMMAND_LIMIT_S = 7200.0, 1800.0

TaskFile = Annotated[
    Path,
    typer.Argument(metavar="TASK", help="The task.json of 'keepwarm task export'.", show_default=False),
]
Repo = Annotated[
    Path,
    typer.Option(
        "--repo", metavar="DIR", help="Checkout of the application, a git repository.", show_default=False
    ),
]
AgentName = Annotated[
    Literal["devin", "command"],
    typer.Option("--agent", help="Who carries it out.", show_default=False),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit-s",
        metavar="S",
        callback=shared.seconds,
        help="Seconds to wait for a final state; a command is ended then. Without it: 7200 for Devin, 1800.",
    ),
]
CommandLine = Annotated[
    str | None,
    typer.Option(
        "--command",
        metavar="CLI",
        help="command: the program and its words; {task} is a file with the task, without it: on stdin.",
    ),
]
Env = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME", help="command: a variable of the environment that it is given."),
]
Branch = Annotated[
    str | None,
    typer.Option(
        "--branch", metavar="NAME", help="command: the branch to make. Without it: keepwarm/FINDING-..."
    ),
]
Worktrees = Annotated[
    Path | None,
    typer.Option(
        "--worktrees",
        metavar="DIR",
        help="command: where the worktree is made. Without it: the temporary folder.",
    ),
]
RemoveWorktree = Annotated[
    bool,
    typer.Option("--remove-worktree", help="command: delete the worktree if all went well."),
]
Authorize = Annotated[
    str | None,
    typer.Option(
        "--authorize",
        metavar="REPO:FINDING",
        help="devin: the repository and the finding, such as acme/app:F1. Nothing is sent without it.",
    ),
]
MaxAcuLimit = Annotated[
    int | None,
    typer.Option("--max-acu-limit", metavar="N", min=1, help="devin: the most it may spend; no default."),
]
Api = Annotated[
    Literal["v3", "v1"] | None,
    typer.Option("--api", help="devin: version of its API. Without it: as the key's prefix says."),
]
Organisation = Annotated[
    str | None,
    typer.Option(
        "--organisation", metavar="ID", help="devin: organisation, for v3. Without it: DEVIN_ORG_ID."
    ),
]
ApiUrl = Annotated[str, typer.Option("--api-url", metavar="URL", help="devin: where its API answers.")]
Remote = Annotated[
    str, typer.Option("--remote", metavar="NAME", help="devin: the remote that names the repository.")
]
State = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="DIR",
        help="devin: where it is kept what was sent. Without it: keepwarm/agents in the user's state folder.",
    ),
]
Attempt = Annotated[
    int,
    typer.Option("--attempt", metavar="N", min=1, help="devin: a higher number pays for another session."),
]


def command(
    task: TaskFile,
    repo: Repo,
    agent: AgentName,
    time_limit_s: TimeLimit = None,
    command: CommandLine = None,
    env: Env = None,
    branch: Branch = None,
    worktrees: Worktrees = None,
    remove_worktree: RemoveWorktree = False,
    authorize: Authorize = None,
    max_acu_limit: MaxAcuLimit = None,
    api: Api = None,
    organisation: Organisation = None,
    api_url: ApiUrl = "https://api.devin.ai",
    remote: Remote = "origin",
    state: State = None,
    attempt: Attempt = 1,
    json: shared.Json = False,
) -> None:
    """Have a task carried out, and say what came of it: a branch or a pull request, and what changed.

    Exit 1 if it was not carried out within the task's scope. Nothing is merged, and the checkout of --repo
    is not touched. 'keepwarm verify' proves the result.
    """
    from keepwarm.repair.agents.run import carry_out, gate, read_assignment

    if agent == "devin":
        _refuse(agent, {"--command": command, "--env": env, "--branch": branch, "--worktrees": worktrees})
        chosen = _devin(
            authorize,
            max_acu_limit,
            api,
            organisation,
            api_url,
            remote,
            state,
            attempt,
            time_limit_s or _DEVIN_LIMIT_S,
        )
    else:
        _refuse(agent, {"--authorize": authorize, "--max-acu-limit": max_acu_limit, "--api": api})
        _refuse(agent, {"--organisation": organisation, "--state": state})
        limit_s = time_limit_s or _COMMAND_LIMIT_S
        chosen = _command(command, env, branch, worktrees, keep=not remove_worktree, limit_s=limit_s)
    assignment = read_assignment(task, repo)
    with _terminated_as_interrupted():
        run = carry_out(chosen, assignment, write_error)
    _show(run, json=json)
    gate(run)


def _devin(
    authorize: str | None,
    max_acu_limit: int | None,
    version: str | None,
    organisation: str | None,
    api_url: str,
    remote: str,
    state: Path | None,
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
        raise InputError("--agent command needs the program to run: --command 'CLI --its-options'")
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


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends the run as Ctrl-C does: through every ``finally``, so no command is left running."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
