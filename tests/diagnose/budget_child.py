"""``keepwarm diagnose`` in small parts, which is killed, or waits, after so many parts.

Arguments: what to do (``go``, ``kill``, ``kill-within``, ``wait``), after how many parts; the command.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from keepwarm._spill import RunFolder
from keepwarm.cli import main
from keepwarm.trace import spilled

PART_VALUES = 7


def patch(deed: str, after: int) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    spilled._PART_VALUES = PART_VALUES
    put, written = RunFolder.put, 0

    def counted(self: RunFolder, name: str, write: Callable[[BinaryIO], object]) -> Path:
        nonlocal written
        written += 1
        if written == after and deed == "kill-within":
            put(self, name, lambda file: _cut(write, file))
        path = put(self, name, write)
        if written == after and deed == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if written == after and deed == "wait":
            sys.stderr.write("waiting\n")
            sys.stderr.flush()
            time.sleep(600)
        return path

    RunFolder.put = counted  # type: ignore[method-assign]


def _cut(write: Callable[[BinaryIO], object], file: BinaryIO) -> None:
    write(file)
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    patch(sys.argv[1], int(sys.argv[2]))
    sys.argv[1:] = sys.argv[3:]
    main()
