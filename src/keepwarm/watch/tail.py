"""The lines that are added to a file, through rotation and truncation, a chunk at a time."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from keepwarm._errors import TraceError
from keepwarm.trace.json_values import MAX_RECORD_BYTES

_CHUNK_BYTES = 1 << 20
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # gzip, zstd


class Tail:
    """Follows ``path`` from its beginning. ``rotations`` counts new files, ``overlong`` lines left out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rotations = 0
        self.overlong = 0
        self._file = _opened(path)
        self._rest = b""
        self._is_overlong = False

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def lines(self) -> Iterator[bytes]:
        """Whole lines that came since the last call, without their ends. Raises TraceError: unreadable.

        A file that was moved away is read to its end first; one that is gone is waited for.
        """
        while True:
            yield from self._whole_lines()
            if not self._is_another():
                return
            # What was added between the last read and the move.
            yield from self._whole_lines()
            try:
                new = _opened(self.path)
            except TraceError:
                return  # gone again; the next call looks anew
            self._file.close()
            self._file, self._rest, self._is_overlong = new, b"", False
            self.rotations += 1

    def _whole_lines(self) -> Iterator[bytes]:
        while chunk := self._read():
            *whole, self._rest = (self._rest + chunk).split(b"\n")
            if whole and self._is_overlong:
                whole, self._is_overlong = whole[1:], False
            if len(self._rest) > MAX_RECORD_BYTES:
                self.overlong += not self._is_overlong
                self._rest, self._is_overlong = b"", True
            yield from whole

    def _read(self) -> bytes:
        try:
            return self._file.read(_CHUNK_BYTES)
        except OSError as error:
            raise TraceError(
                f"cannot read {str(self.path)!r}: {error.strerror or error}; check the disk"
            ) from None

    def _is_another(self) -> bool:
        """Whether ``path`` names another file now, or this one was cut shorter than what was read."""
        try:
            named = self.path.stat()
        except OSError:
            return False
        ours = os.fstat(self._file.fileno())
        same = (named.st_dev, named.st_ino) == (ours.st_dev, ours.st_ino)
        return not same or named.st_size < self._file.tell()


def _opened(path: Path) -> BinaryIO:
    """Unbuffered: what is added later must be seen. Raises TraceError."""
    try:
        # Not blocking: a pipe without a writer is refused below, not waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TraceError(f"cannot follow {str(path)!r}: {reason}; start keepwarm record first") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise TraceError(f"{str(path)!r} is not a regular file; name the file of keepwarm record --out")
    if os.pread(descriptor, 4, 0).startswith(_PACKED):
        os.close(descriptor)
        raise TraceError(f"{str(path)!r} is compressed and cannot grow; diagnose it, or follow a plain file")
    return os.fdopen(descriptor, "rb", buffering=0)
