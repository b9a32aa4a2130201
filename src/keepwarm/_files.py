"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from keepwarm._errors import InputError


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the target first, then rename over it: no reader sees half a file.

    Raises:
        InputError: it cannot be written; a file that was there stays as it was.
    """
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), 0o666 & ~_umask())
        Path(temporary).replace(path)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"cannot write {str(path)!r}: {reason}; name a file in a writable folder") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
