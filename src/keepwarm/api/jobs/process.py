"""The server's end of a worker."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import wait

import msgspec

from keepwarm.api.jobs import worker
from keepwarm.api.jobs.messages import Message, Staged
from keepwarm.api.jobs.recorded import Recorded
from keepwarm.diagnose.reorder import ReorderCall

_GRACE_S = 3.0
_context = multiprocessing.get_context("spawn")  # a fork would copy the server's threads and sockets
_processes = threading.Lock()  # multiprocessing reaps children from whichever thread asks


class Gone(Exception):
    """The process ended before it answered; ``exit_code`` is negative for a signal."""

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(f"exit code {exit_code}")
        self.exit_code = exit_code


class Process:
    """One worker. One thread asks it; any thread may ``stop`` it."""

    def __init__(self, recorded: Recorded, idle_s: float) -> None:
        self.recorded = recorded
        self._pipe, theirs = _context.Pipe()
        self._process = _context.Process(
            target=worker.run, args=(theirs, recorded, idle_s), name="keepwarm simulation", daemon=True
        )
        # Ctrl-C reaches every process of a terminal: it is for the server, which ends this one.
        resource_tracker.ensure_running()  # would let the signal through again where it is yet to start
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # as the process inherits it
        try:
            with _processes:
                self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            theirs.close()

    @property
    def pid(self) -> int | None:
        """Of the process."""
        return self._process.pid

    def ask(self, call: ReorderCall) -> Iterator[Message]:
        """What it says of ``call``, up to the answer. Raises Gone."""
        try:
            self._pipe.send_bytes(msgspec.json.encode(call))
            while True:
                message: Message = msgspec.json.decode(self._pipe.recv_bytes(), type=Message)
                yield message
                if not isinstance(message, Staged):
                    return
        except (EOFError, OSError):
            raise Gone(self.end()) from None

    def is_alive(self) -> bool:
        """Whether it still runs; it ends by itself when nobody asks."""
        return not wait([self._process.sentinel], 0)

    def stop(self) -> None:
        """Have it end, and do not wait for it: whoever asks it meets Gone."""
        with _processes:
            if self._process.is_alive():
                self._process.terminate()

    def end(self) -> int | None:
        """End it and wait; its exit code. May be called again."""
        self.stop()
        if not wait([self._process.sentinel], _GRACE_S):
            with _processes:
                self._process.kill()
            wait([self._process.sentinel])
        with _processes:
            self._process.join(_GRACE_S)  # its files are closed: it is about to be gone
        self._pipe.close()
        return self._process.exitcode
