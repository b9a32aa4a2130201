"""Where exceptions become exit codes: one line on standard error, never a traceback.

0 fine; 1 a gate said no; 2 the input or the call is wrong; 70 a bug of keepwarm;
130 interrupted; 141 nobody reads standard output any more.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from keepwarm._errors import IntegrityError, KeepwarmError
from keepwarm.cli.output import ClosedPipeError, abandon_stdout, write_error

INTERRUPTED = 130
CLOSED_PIPE = 141
WRONG_CALL = 2


class Boundary(TyperGroup):
    """The command group, with our exit codes in place of typer's."""

    def main(self, *args: Any, **options: Any) -> NoReturn:
        """Run a command and exit; takes what click's ``main`` takes, raises nothing but SystemExit."""
        ours = {"prog_name": "keepwarm", "standalone_mode": False}
        sys.exit(_exit_code(lambda: super(Boundary, self).main(*args, **options | ours)))


def _exit_code(run: Callable[[], Any]) -> int:
    """Call ``run``; what it raises is said in one line, and the exit code that goes with it returned."""
    try:
        code = run()
    except KeepwarmError as error:
        write_error(f"{error}" if not isinstance(error, IntegrityError) else _bug(error))
        return error.exit_code
    except (ClosedPipeError, SystemExit):  # typer exits by itself only when the reader of its help is gone
        abandon_stdout()
        return CLOSED_PIPE
    except (KeyboardInterrupt, typer.Abort):
        write_error("interrupted")
        return INTERRUPTED
    except OSError as error:
        write_error(_system_error(error))
        return WRONG_CALL
    except MemoryError:
        write_error("out of memory; take a part of the trace, or a larger machine")
        return WRONG_CALL
    except RecursionError:
        write_error("something in the input is nested deeper than Python can follow; take it out")
        return WRONG_CALL
    except Exception as error:  # noqa: BLE001 - the last line of defence: a user never sees a traceback
        return _other(error)
    if code == INTERRUPTED:
        write_error("interrupted")
    return code if isinstance(code, int) else 0


def _other(error: Exception) -> int:
    # Typer's usage errors have no public base class that all its versions share.
    message: Callable[[], str] | None = getattr(error, "format_message", None)
    if message is not None:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "keepwarm"
        text = message().strip().rstrip(".")
        write_error(f"{text}; see '{command} --help'")
        return WRONG_CALL
    if os.environ.get("KEEPWARM_DEBUG"):
        raise error
    write_error(_bug(error))
    return IntegrityError.exit_code


def _system_error(error: OSError) -> str:
    place = f" {error.filename!r}" if error.filename is not None else ""
    return (
        f"cannot use{place or ' a file'}: {error.strerror or error}; check that it is there and may be used"
    )


def _bug(error: Exception) -> str:
    return (
        f"a bug in keepwarm, {type(error).__name__}: {error}; KEEPWARM_DEBUG=1 shows where, please report it"
    )
