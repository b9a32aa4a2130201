"""The options of ``keepwarm canary``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keepwarm.cli import options as shared

LocalModel = Annotated[
    Path | None,
    typer.Option(
        "--local-model", metavar="DIR", help="Start vLLM with this model on this machine's CPUs, and stop it."
    ),
]
Python = Annotated[
    str | None,
    typer.Option("--python", metavar="FILE", help="Python with vLLM, for --local-model. Without it: this."),
]
Blocks = Annotated[
    int,
    typer.Option("--blocks", metavar="N", min=2, help="Pool of --local-model, the null block included."),
]
BlockSize = Annotated[
    int, typer.Option("--block-size", metavar="N", min=1, help="Tokens per block of --local-model.")
]
Compose = Annotated[
    Path | None, typer.Option("--compose", metavar="FILE", help="Start a service of this compose file.")
]
Service = Annotated[
    str | None, typer.Option("--service", metavar="NAME", help="The service of --compose that runs vLLM.")
]
StartCommand = Annotated[
    str | None,
    typer.Option(
        "--start-command", metavar="COMMAND", help="Starts vLLM with the settings in its environment."
    ),
]
StopCommand = Annotated[
    str | None, typer.Option("--stop-command", metavar="COMMAND", help="Stops what --start-command started.")
]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", metavar="URL", help="Where --compose or --start-command answers.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the candidate; may be repeated."),
]
OtherText = Annotated[
    bool,
    typer.Option("--allow-other-text", help="Do not refuse text that differs from lru's (low precision)."),
]
Device = Annotated[
    str | None,
    typer.Option("--device", metavar="TEXT", help="What the record says of the server's machine."),
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the record.")]
Logs = Annotated[
    Path | None,
    typer.Option("--logs", metavar="DIR", help="Folder for the servers' logs. Without it: logs in --out."),
]
TtftBudget = Annotated[
    float,
    typer.Option("--ttft-budget", metavar="RATIO", min=0.0, help="Refuse a TTFT surely beyond it, × lru's."),
]
LeaveRunning = Annotated[
    bool,
    typer.Option("--leave-running", help="Leave the server running in the final mode; not --local-model."),
]
ScanLimits = Annotated[
    str,
    typer.Option("--scan-limits", metavar="N,...", callback=shared.count_list, help="Scan limits to try."),
]
P95Budget = Annotated[
    str,
    typer.Option("--p95-ttft-budget", metavar="RATIO|S", help="1.05 is a ratio to lru's, 0.4s are seconds."),
]
