"""The commands of measured replays on a command line of their own, with two traces to send."""

from __future__ import annotations

from pathlib import Path

import typer
from typer.testing import CliRunner, Result

from keepwarm.cli import compare, evidence, replay
from keepwarm.cli.boundary import Boundary
from tests.canary.pressure.fake_vllm import served
from tests.replay import traces
from tests.replay.fake_server import ReplayVllm

app = typer.Typer(cls=Boundary, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command("replay")(replay.command)
app.command("compare")(compare.command)
app.add_typer(evidence.app, name="evidence")


def run(*arguments: str | Path, **environment: str | None) -> Result:
    quiet = {"COLUMNS": None, "NO_COLOR": None, "KEEPWARM_API_KEY": None, "OPENAI_API_KEY": None}
    return CliRunner(env={**quiet, **environment}).invoke(app, list(map(str, arguments)))


def kept(folder: Path, requests: int = 9) -> Path:
    """``before`` and ``after`` replayed into ``folder``, their traces beside them."""
    for label, lines in (("before", traces.broken(requests)), ("after", traces.repaired(requests))):
        trace = traces.write(folder / f"{label}.jsonl", lines)
        with served(ReplayVllm()) as url:
            result = run("replay", trace, "--base-url", url, "--label", label, "--out", folder / label)
        assert result.exit_code == 0, result.output
    return folder
