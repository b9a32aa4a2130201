"""git as the agents' parts ask it: plumbing, no hooks, never the checkout or the index of the user."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from keepwarm._errors import InputError

_LIMIT_S = 300
OURS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
"""For repositories of our own: nothing that somebody configured for theirs."""


class Git:
    """Runs git in ``folder``. Every method raises InputError: git is missing, refuses, or takes too long."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        self._environment = {**kept, **quiet, **(environment or {})}

    def top_level(self) -> Path:
        """The folder of the checkout that ``folder`` is in."""
        what = f"{str(self.folder)!r} is no git checkout; name one with --repo"
        return Path(os.fsdecode(self.run("rev-parse", "--show-toplevel", what=what).rstrip(b"\n")))

    def prefix(self) -> str:
        """Where ``folder`` is in its checkout: empty at the top, else with a slash at the end."""
        what = f"{str(self.folder)!r} is no git checkout; name one with --repo"
        return os.fsdecode(self.run("rev-parse", "--show-prefix", what=what).rstrip(b"\n"))

    def commit(self, revision: str) -> str:
        """The full hash of the commit that ``revision`` names."""
        out = self.run(
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            f"{revision}^{{commit}}",
            what=f"commit {revision!r} of the task is not in {str(self.folder)!r}; fetch it",
        )
        return out.decode().strip()

    def succeeds(self, *arguments: str) -> bool:
        """Whether the command ends with 0."""
        return self._run(arguments, None, None).returncode == 0

    def run(
        self, *arguments: str, what: str, stdin: IO[bytes] | None = None, stdout: IO[bytes] | None = None
    ) -> bytes:
        """Standard output, unless it goes to ``stdout``. Raises InputError: ``what``, and what git says."""
        done = self._run(arguments, stdin, stdout)
        if done.returncode:
            said = " ".join((done.stderr or b"").decode("utf-8", "replace").split())[:400]
            raise InputError(f"{what}{f' ({said})' if said else ''}")
        return done.stdout or b""

    def _run(
        self, arguments: tuple[str, ...], stdin: IO[bytes] | None, stdout: IO[bytes] | None
    ) -> subprocess.CompletedProcess[bytes]:
        command = ["git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]
        try:
            return subprocess.run(  # noqa: S603 - a fixed program, its arguments never through a shell
                [*command, "-c", "core.quotePath=false", *arguments],
                cwd=self.folder,
                env=self._environment,
                stdin=stdin or subprocess.DEVNULL,
                stdout=stdout or subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=_LIMIT_S,
                check=False,
            )
        except FileNotFoundError as error:
            missing = f"folder {str(self.folder)!r}" if error.filename != "git" else "the program git"
            raise InputError(f"{missing} is not there; check --repo") from None
        except NotADirectoryError:
            raise InputError(f"{str(self.folder)!r} is no folder; name a checkout with --repo") from None
        except subprocess.TimeoutExpired:
            raise InputError(
                f"git {arguments[0]} took more than {_LIMIT_S} s in {str(self.folder)!r}; check it"
            ) from None
