"""Commands of the loop, printed as one would type them."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

KEEPWARM = (sys.executable, "-m", "keepwarm")


class CommandFailed(Exception):
    """A command ended with a code that the loop cannot go on from."""


def keepwarm(folder: Path, *arguments: str, allowed: Sequence[int] = (0,), shown: bool = True) -> None:
    """Run ``keepwarm`` in ``folder``; of a page that is not ``shown``, only what went wrong is.

    Raises CommandFailed for an exit code that is not allowed.
    """
    print(f"\n$ keepwarm {shlex.join(arguments)}", flush=True)
    output = None if shown else subprocess.DEVNULL
    code = subprocess.run([*KEEPWARM, *arguments], cwd=folder, stdout=output, check=False).returncode
    if code not in allowed:
        raise CommandFailed(f"keepwarm {arguments[0]} ended with exit code {code}")


def output_of(folder: Path, *command: str) -> str:
    """What a command prints, its own output hidden. Raises CommandFailed, with the end of its errors."""
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise CommandFailed(
            f"{shlex.join(command[:3])} ended with exit code {ended.returncode}: {ended.stderr[-500:]}"
        )
    return ended.stdout
