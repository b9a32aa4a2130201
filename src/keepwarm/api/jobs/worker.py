"""The process that simulates. It knows one trace and answers one call after another, until it is idle.

It ends with whoever started it: when the pipe is closed, however that came about.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

import msgspec

from keepwarm._errors import IntegrityError, KeepwarmError
from keepwarm.api.jobs.messages import Answered, Message, Refused, Staged
from keepwarm.api.jobs.recorded import Recorded, examined
from keepwarm.api.problems import kind_and_place
from keepwarm.diagnose.reorder import ReorderCall

if TYPE_CHECKING:
    from keepwarm.diagnose.reorder import Resimulator

_LEAST_S = 0.1  # between two reports of progress


def run(pipe: Connection, recorded: Recorded, idle_s: float) -> None:
    """Answer the calls that come through ``pipe``. Ends after ``idle_s`` without one, or with the pipe."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    calls: queue.SimpleQueue[ReorderCall] = queue.SimpleQueue()
    threading.Thread(target=_hear, args=(pipe, calls), daemon=True).start()
    known: Resimulator | None = None
    while True:
        try:
            call = calls.get(timeout=idle_s)
        except queue.Empty:
            return
        heard = _Reporting(pipe)
        try:
            known = known or examined(recorded, heard)
            answer: Message = Answered(known.resimulate(call, heard))
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            answer = refusal(error)
        _say(pipe, answer)


def refusal(error: Exception) -> Refused:
    """What whoever waits is told; of a bug its kind and place, for its words may hold recorded values."""
    if isinstance(error, KeepwarmError) and not isinstance(error, IntegrityError):
        return Refused(str(error))
    if isinstance(error, MemoryError):
        return Refused("there is too little memory to simulate this trace; end other programs, try again")
    return Refused(f"a bug in keepwarm, {kind_and_place(error)}; please report it")


def _hear(pipe: Connection, calls: queue.SimpleQueue[ReorderCall]) -> None:
    while True:
        try:
            calls.put(msgspec.json.decode(pipe.recv_bytes(), type=ReorderCall))
        except (EOFError, OSError):
            os._exit(0)  # whatever is being computed is for nobody


def _say(pipe: Connection, message: Message) -> None:
    try:
        pipe.send_bytes(msgspec.json.encode(message))
    except OSError:
        os._exit(0)


class _Reporting:
    """Progress, told now and then."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._stage, self._done, self._total = "", 0, 0
        self._said_s = 0.0

    def stage(self, name: str, total: int | None) -> None:
        """A stage begins: said at once."""
        self._stage, self._done, self._total = name, 0, total or 0
        self._tell()

    def advance(self, n: int = 1) -> None:
        """Steps are done."""
        self._done += n
        if time.monotonic() - self._said_s >= _LEAST_S:
            self._tell()

    def _tell(self) -> None:
        self._said_s = time.monotonic()
        _say(self._pipe, Staged(self._stage, self._done, self._total))
