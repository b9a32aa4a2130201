"""The file of lines: never overwritten, one writer, whole lines after any crash but the last one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path

from keepwarm._errors import InputError
from keepwarm.replay.recorder.capture import decoded
from keepwarm.replay.recorder.lines import LINE_START

_OURS_ALONE = 0o600  # prompts are other people's data
_TAIL_BYTES = 1024 * 1024


class Journal:
    """A file that lines are added to, each with one write, so that it is complete or the last one."""

    def __init__(self, path: Path, descriptor: int, repair: str | None) -> None:
        self.path = path
        self.repair = repair
        """What had to be done about the last line of an earlier run, in words."""
        self.lost_lines = 0
        self.problem: str | None = None
        """Why lines were lost, the first time."""
        self._descriptor = descriptor
        self._end = os.lseek(descriptor, 0, os.SEEK_END)

    @classmethod
    def open(cls, path: Path, *, append: bool) -> Journal:
        """A new file, or with ``append`` also one that is there; nobody else can read a new one.

        Raises:
            InputError: it is there and ``append`` is not set, is no file of recorded requests, another
                recording writes to it, or it cannot be written.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            descriptor = os.open(path, flags if append else flags | os.O_EXCL, _OURS_ALONE)
        except FileExistsError:
            raise InputError(
                f"--out {str(path)!r} is already there; add --append to go on in it, or name another file"
            ) from None
        except OSError as error:
            raise InputError(
                f"cannot write {str(path)!r}: {error.strerror or error}; name a file in a writable folder"
            ) from None
        try:
            return cls(path, descriptor, _ready(path, descriptor))
        except BaseException:
            os.close(descriptor)
            raise

    def write(self, line: bytes) -> None:
        """Add a line, its end included. What cannot be written is counted and taken back, never raised."""
        try:
            written = 0
            while written < len(line):
                written += os.write(self._descriptor, memoryview(line)[written:])
            self._end += written
        except OSError as error:
            self.give_up(error.strerror or str(error))
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._end)

    def give_up(self, problem: str) -> None:
        """Count a line that could not be made or written."""
        self.lost_lines += 1
        self.problem = self.problem or problem

    def close(self) -> None:
        """Flush to disk and let go. A second call does nothing."""
        if self._descriptor < 0:
            return
        with contextlib.suppress(OSError):
            os.fsync(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = -1


def _ready(path: Path, descriptor: int) -> str | None:
    """Make sure that a line can be added; what had to be repaired. Raises InputError."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise InputError(f"--out {str(path)!r} is not a regular file; name another")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(
            f"--out {str(path)!r} is being written by another recording; name another file"
        ) from None
    size = os.fstat(descriptor).st_size
    if size == 0:
        return None
    tail = _tail(descriptor, size)
    start = os.pread(descriptor, len(LINE_START), 0)
    if start[:1] != b"{":
        raise InputError(f"--out {str(path)!r} holds no lines of JSON; name another file to --append to")
    if not tail:
        return None
    if decoded(tail) is None and (tail.startswith(LINE_START) or LINE_START.startswith(tail)):
        os.ftruncate(descriptor, size - len(tail))
        return f"its last line was cut off half-written ({len(tail)} bytes) and is taken out"
    os.pwrite(descriptor, b"\n", size)  # O_APPEND: it goes to the end
    return "its last line had no end"


def _tail(descriptor: int, size: int) -> bytes:
    """What follows the last line end; empty for a file that ends with one."""
    tail = b""
    while len(tail) < size:
        step = min(_TAIL_BYTES, size - len(tail))
        piece = os.pread(descriptor, step, size - len(tail) - step)
        if b"\n" in piece:
            return piece.rpartition(b"\n")[2] + tail
        tail = piece + tail
    return tail
