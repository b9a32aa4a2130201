"""Standard output and standard error: who reads them, how wide, in colour or not."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError

_PLAIN_COLUMNS = 100  # where nobody says how wide: a pipe, a file, a CI log
_NARROWEST, _WIDEST = 60, 140
_LONGEST_ERROR = 2000  # characters: a value may be of any length, and the next step stands at the end


class ClosedPipeError(Exception):
    """The reader of standard output went away: ``keepwarm ... | head``."""


class Screen(NamedTuple):
    """How standard output is to be written: columns, and whether colours are welcome."""

    width: int
    colour: bool


def screen() -> Screen:
    """Ask the environment (``COLUMNS``, ``NO_COLOR``, ``FORCE_COLOR``) and the terminal."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns):
        width = int(columns)
    else:
        width = shutil.get_terminal_size().columns if terminal else _PLAIN_COLUMNS
    wanted = terminal and os.environ.get("TERM") != "dumb"
    colour = (wanted or bool(os.environ.get("FORCE_COLOR"))) and not os.environ.get("NO_COLOR")
    return Screen(min(max(width, _NARROWEST), _WIDEST), colour)


def write_text(text: str) -> None:
    """Write to standard output; what its encoding lacks becomes ``?``. Raises ClosedPipeError."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    write_bytes(text.encode(encoding, "replace"))


def write_bytes(content: bytes) -> None:
    """Write to standard output as it is, and flush. Raises ClosedPipeError, InputError."""
    if sys.stdout is None:
        raise InputError("standard output is closed; redirect it to a file")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError as error:
        raise ClosedPipeError from error
    except OSError as error:
        abandon_stdout()
        raise InputError(
            f"cannot write standard output: {error.strerror or error}; redirect it elsewhere"
        ) from error


def abandon_stdout() -> None:
    """Point standard output nowhere, so that the flush at exit has nothing to complain about."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def say_resumed(folder: Path) -> None:
    """An earlier run within a budget was interrupted, and left what it had done in ``folder``."""
    write_error(f"goes on from what an interrupted run has left in {str(folder)!r}")


def write_error(message: str) -> None:
    """One line on standard error, starting with ``keepwarm:``; control characters are escaped."""
    if sys.stderr is None:
        return
    line = " ".join(message.split())
    if len(line) > _LONGEST_ERROR:
        half = _LONGEST_ERROR // 2
        line = f"{line[:half]} … {line[-half:]}"
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)
    with contextlib.suppress(OSError):
        sys.stderr.write(f"keepwarm: {safe}\n")
        sys.stderr.flush()
