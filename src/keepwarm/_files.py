"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from keepwarm._errors import InputError


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the target first, then rename over it: no reader sees half a file.

    A link is replaced, not followed. A device or a pipe, ``/dev/stdout`` for one, is written into: renaming
    would put a file in its place, for everybody on the machine where root does it.

    Raises:
        InputError: it cannot be written; a file that was there stays as it was.
    """
    write_whole_with(path, lambda file: file.write(content))


def write_whole_with(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """``write_whole`` of what ``write`` writes. Raises InputError, and what ``write`` raises."""
    temporary: str | None = None
    try:
        if _is_device(path):
            with path.open("wb") as device:
                write(device)
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            write(file)
            os.fchmod(file.fileno(), 0o666 & ~_umask())
        Path(temporary).replace(path)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"cannot write {str(path)!r}: {reason}; name a file in a writable folder") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def _is_device(path: Path) -> bool:
    """Whether ``path`` is or leads to something that is neither a file nor a folder."""
    return path.exists() and not (path.is_file() or path.is_dir())


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
