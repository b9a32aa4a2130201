"""``keepwarm simulate cache`` in small parts, that is killed or interrupted after so many writes.

Arguments: what to do (``go``, ``kill``, ``kill-within``, ``interrupt``), after how many writes; the command.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from keepwarm._spill import RunFolder
from keepwarm.cache import parts
from keepwarm.cli import main

PART_BLOCKS = 24


def patch(deed: str, after: int) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    parts.PartMaker.__init__.__defaults__ = (PART_BLOCKS,)
    put, numbers = RunFolder.put, itertools.count(1)

    def counted(self: RunFolder, name: str, write: Callable[[BinaryIO], object]) -> Path:
        written = next(numbers)  # each its own: several threads write
        if written == after and deed == "kill-within":
            put(self, name, lambda file: (write(file), file.flush(), os.kill(os.getpid(), signal.SIGKILL)))
        path = put(self, name, write)
        if written == after and deed == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if written == after and deed == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)  # as Ctrl-C does; the main thread hears it
        return path

    RunFolder.put = counted  # type: ignore[method-assign]


if __name__ == "__main__":
    patch(sys.argv[1], int(sys.argv[2]))
    sys.argv[1:] = sys.argv[3:]
    main()
