"""The commands of ``keepwarm``, one line each. Nothing heavy is imported before a command runs."""

from __future__ import annotations

from typing import Annotated

import typer

from keepwarm import __version__
from keepwarm.cli import (
    agent,
    canary,
    causes,
    check,
    compare,
    diagnose,
    evidence,
    explain,
    pressure,
    profile,
    record,
    replay,
    reuse,
    serve,
    sessions,
    simulate,
    sweep,
    task,
    verify,
    vllm,
    watch,
)
from keepwarm.cli.boundary import Boundary
from keepwarm.cli.output import write_text

app = typer.Typer(
    cls=Boundary,
    help="Find out why LLM prompts miss the prefix cache, and keep the right blocks warm.",
    rich_markup_mode=None,  # help is plain text: rich alone would cost more than the rest of the start
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("diagnose")(diagnose.command)
app.command("explain")(explain.command)
app.command("causes")(causes.command)
app.command("check")(check.command)
app.add_typer(simulate.app, name="simulate")
app.command("sweep")(sweep.command)
app.add_typer(reuse.app, name="reuse")
app.add_typer(sessions.app, name="sessions")
app.add_typer(profile.app, name="profile")
app.command("record")(record.command)
app.add_typer(task.app, name="task")
task.app.command("run")(agent.command)
app.command("verify")(verify.command)
app.command("replay")(replay.command)
app.command("compare")(compare.command)
app.command("serve")(serve.command)
app.command("watch")(watch.command)
app.add_typer(evidence.app, name="evidence")
app.command("pressure")(pressure.command)
app.add_typer(canary.app, name="canary")
app.add_typer(vllm.app, name="vllm")


def _print_version(wanted: bool) -> None:
    if wanted:
        write_text(f"keepwarm {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Find out why LLM prompts miss the prefix cache, and keep the right blocks warm."""
