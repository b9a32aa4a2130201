"""Options of ``keepwarm task run``: for every agent, for a command, for Devin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from keepwarm.cli import options as shared

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
