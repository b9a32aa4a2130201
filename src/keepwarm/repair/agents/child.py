"""A command as a child: its whole family is ended with it, and only the end of what it prints is kept."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from keepwarm._errors import InputError

MARK = "AGENT_RUN_ID"
_TAIL_BYTES = 128 << 10
_CHUNK_BYTES = 64 << 10
_POLL_S = 0.05
_START_S = 1.0
_MOST_ROUNDS = 50  # of looking for what forks faster than it is ended


class Child:
    """Runs ``command`` in a process group of its own, from ``start`` on.

    Whatever it starts inherits a mark in its environment, by which those that left the group are found
    (Linux).
    """

    def __init__(
        self, command: Sequence[str], *, folder: Path, environment: Mapping[str, str], stdin: Path
    ) -> None:
        token = secrets.token_hex(16)
        self._mark = f"{MARK}={token}".encode()
        self._command = list(command)
        self._folder = folder
        self._environment = {**environment, MARK: token}
        self._stdin = stdin
        self.output_bytes = 0
        self._tail = bytearray()
        self._process: subprocess.Popen[bytes] | None = None
        self._reader = threading.Thread(target=self._read, daemon=True)

    def start(self) -> None:
        """Raises InputError: it cannot be started. Whoever is interrupted in here leaves nothing running."""
        try:
            with self._stdin.open("rb") as source:
                self._process = subprocess.Popen(  # noqa: S603 - the command that the user named, no shell
                    self._command,
                    cwd=self._folder,
                    env=self._environment,
                    stdin=source,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            self._reader.start()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            name = self._command[0]
            raise InputError(f"--command: cannot start {name!r}: {reason}; name a program") from None
        except BaseException:
            self._end_strays()
            raise

    @property
    def pid(self) -> int:
        """Its process id, and that of its group. It has started."""
        assert self._process is not None
        return self._process.pid

    def wait(self, limit_s: float) -> bool:
        """Whether it ended by itself within ``limit_s``; not reaped, so that its group keeps its number."""
        deadline = time.monotonic() + limit_s
        while not self._has_ended():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def end(self, grace_s: float = 5.0) -> int:
        """End the family, first by SIGTERM, then by SIGKILL. Its exit status; negative: the signal.

        0 if it never started.
        """
        if self._process is None:
            return 0
        if self._process.returncode is None:
            self._signal(signal.SIGTERM)
            deadline = time.monotonic() + grace_s
            while time.monotonic() < deadline and not (self._has_ended() and not self._marked()):
                time.sleep(_POLL_S)
            for _ in range(_MOST_ROUNDS):
                self._signal(signal.SIGKILL)
                if self._has_ended() and not self._marked():
                    break
                time.sleep(_POLL_S)
            self._process.wait()
            if self._reader.is_alive():
                self._reader.join(grace_s)
            # It still reads if something escaped all of this and holds the pipe.
            if not self._reader.is_alive() and self._process.stdout is not None:
                self._process.stdout.close()
        return self._process.returncode

    def tail(self) -> bytes:
        """The last 128 KiB of what was printed, from the beginning of a line if anything was cut off."""
        kept = bytes(self._tail)
        return kept if self.output_bytes == len(kept) else kept.partition(b"\n")[2]

    def _has_ended(self) -> bool:
        if self._process is None or self._process.returncode is not None:
            return True
        flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        return os.waitid(os.P_PID, self.pid, flags) is not None

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self._process.stdout.fileno(), _CHUNK_BYTES):
                self.output_bytes += len(chunk)
                self._tail += chunk
                del self._tail[:-_TAIL_BYTES]

    def _signal(self, number: signal.Signals) -> None:
        """To the group, which exists as long as its leader is not reaped, and to those that left it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
        for pid in self._marked():
            with contextlib.suppress(OSError):
                handle = os.pidfd_open(pid)
                try:
                    if self._is_marked(pid):  # the number may have been given to another since
                        signal.pidfd_send_signal(handle, number)
                finally:
                    os.close(handle)

    def _end_strays(self) -> None:
        """End whoever has the mark, or gets it within a second: a child that never got a number here."""
        deadline = time.monotonic() + _START_S
        found = False
        while time.monotonic() < deadline:
            marked = [pid for pid in _all_pids() if self._is_marked(pid)]
            if found and not marked:
                return
            for pid in marked:
                found = True
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_POLL_S)

    def _marked(self) -> list[int]:
        return [pid for pid in _all_pids() if pid != self.pid and self._is_marked(pid)]

    def _is_marked(self, pid: int) -> bool:
        try:
            return self._mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False


def _all_pids() -> Iterator[int]:
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208 - names alone are wanted
            if name.isdigit():
                yield int(name)
