"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from keepwarm._errors import InputError

_DESCRIPTORS = "/proc/self/fd"
_MOST_LINKS = 40  # as many as Linux follows


def check_apart(read: Mapping[str, Path], written: Mapping[str, Path | None]) -> None:
    """Raise InputError, before the long work, where a file to be written is one that is read, or another one.

    Files by what names them, say the option.
    """
    # Not Path.resolve: before Python 3.13 it raises RuntimeError for links that lead to each other.
    seen = {os.path.realpath(path): name for name, path in read.items()}
    for option, path in written.items():
        other = option if path is None else seen.setdefault(os.path.realpath(path), option)
        if other != option:
            raise InputError(f"{option} {str(path)!r} would overwrite {other}; name another file")


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the target first, then rename over it: no reader sees half a file.

    A link is replaced, not followed. A device, a pipe or ``/dev/stdout``, wherever that leads, is written
    into: renaming would put a file in its place, for everybody on the machine where root does it.

    Raises:
        InputError: it cannot be written; a file that was there stays as it was.
    """
    write_whole_with(path, lambda file: file.write(content))


def write_whole_with(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """``write_whole`` of what ``write`` writes. Raises InputError, and what ``write`` raises."""
    temporary: str | None = None
    try:
        descriptor = _own_descriptor(path)
        if descriptor is not None or _is_device(path):
            with path.open("wb") if descriptor is None else os.fdopen(os.dup(descriptor), "wb") as device:
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


def _own_descriptor(path: Path) -> int | None:
    """The open file of this process that ``path`` leads to, as ``/dev/stdout`` does; None if to none."""
    for _ in range(_MOST_LINKS):
        place = os.path.realpath(path.parent)  # not Path.resolve: see ``check_apart``
        if place == os.path.realpath(_DESCRIPTORS) and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = Path(place, path.readlink())
    return None


def _is_device(path: Path) -> bool:
    """Whether ``path`` is or leads to something that is neither a file nor a folder."""
    return path.exists() and not (path.is_file() or path.is_dir())


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
