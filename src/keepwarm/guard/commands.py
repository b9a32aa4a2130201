"""A command run without a shell: in its own process group, with a time limit, with few variables."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError

_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "VIRTUAL_ENV", "PYTHONPATH", "SYSTEMROOT")
_MOST_OUTPUT_BYTES = 1 << 20


class Finished(NamedTuple):
    """How a command ended: its exit status (None: the time was up) and the end of what it printed."""

    status: int | None
    output: str


def split(command: str) -> list[str]:
    """The words of a command as a shell would split them; nothing is expanded. Raises InputError."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"--tests {command!r} cannot be split into words: {error}; check quotes") from None
    if not words:
        raise InputError("--tests is empty; give the command that runs the project's tests")
    return words


def run(words: list[str], folder: Path, limit_s: float) -> Finished:
    """Run a program in ``folder``; when the time is up, everything it started is ended.

    Raises:
        InputError: there is no such program.
    """
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryDirectory(prefix="keepwarm-home-") as home:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command, never through a shell
                words,
                cwd=folder,
                env=_environment(Path(home)),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise InputError(
                f"--tests: cannot run {words[0]!r} in a checkout of --head: {error.strerror or error}; "
                "give a program on PATH or in the repository"
            ) from None
        try:
            status: int | None = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        size = printed.seek(0, os.SEEK_END)
        printed.seek(max(0, size - _MOST_OUTPUT_BYTES))
        return Finished(status, printed.read().decode("utf-8", "replace"))


def _environment(home: Path) -> dict[str, str]:
    """No keys, tokens or settings of the caller: a repaired source is code somebody else wrote."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {"HOME": str(home), "TMPDIR": str(home), "CI": "1"}
