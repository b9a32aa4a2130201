"""The simulations that were asked for: at most two at once, the last of them remembered."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import NamedTuple

from msgspec.structs import replace

from keepwarm.api.jobs.messages import Answered, Message, Refused, Staged
from keepwarm.api.jobs.process import Gone, Process
from keepwarm.api.jobs.recorded import Recorded
from keepwarm.api.problems import Conflict, NoSuchResult, kind_and_place
from keepwarm.api.schema.jobs import Job
from keepwarm.diagnose.reorder import ReorderCall

AT_ONCE = 2
REMEMBERED = 64
IDLE_S = 600.0
_START_S = 10.0  # a process starts in less
_ENDED = ("done", "failed", "cancelled")
_Key = tuple[Recorded, str, frozenset[str], tuple[object, ...]]


class Seen(NamedTuple):
    """A job, and how often it had changed by then."""

    version: int
    job: Job


class _Entry:
    def __init__(self, job: Job, key: _Key, recorded: Recorded) -> None:
        self.job = job
        self.key = key
        self.recorded = recorded
        self.version = 0
        self.process: Process | None = None
        self.wakes: list[Callable[[], None]] = []

    @property
    def has_ended(self) -> bool:
        return self.job.state in _ENDED


class Jobs:
    """Starts nothing before it is asked. Safe to use from threads; ``watch`` from the event loop.

    A process that has answered stays for a while, since it knows the trace: the next call is quicker.
    """

    def __init__(self, *, idle_s: float = IDLE_S) -> None:
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}  # oldest first
        self._waiting: deque[_Entry] = deque()
        self._running = 0
        self._warm: list[Process] = []  # idle ones, the longest first
        self._closed = False
        self._ended = threading.Condition(self._lock)  # a job, and its thread with it

    def start(self, diagnosis: str, recorded: Recorded, call: ReorderCall) -> Job:
        """A new job, or the one that answers the very same already.

        Raises Conflict: too many wait.
        """
        key: _Key = (recorded, call.call_site, frozenset(call.findings), call.moves)
        with self._lock:
            for entry in reversed(self._entries.values()):
                if entry.key == key and entry.job.state in ("waiting", "running", "done"):
                    return entry.job
            self._forget()
            job = Job(id=secrets.token_hex(8), diagnosis=diagnosis, call=call, state="waiting")
            entry = _Entry(job, key, recorded)
            self._entries[job.id] = entry
            self._waiting.append(entry)
            self._go_on()
            return entry.job

    def get(self, id: str) -> Job:  # noqa: A002 - as the answer calls it
        """How far it is. Raises NoSuchResult."""
        with self._lock:
            return self._entry(id).job

    def cancel(self, id: str) -> Job:  # noqa: A002
        """Cancel it; one that has ended stays as it ended. Raises NoSuchResult."""
        with self._lock:
            entry = self._entry(id)
            if entry.has_ended:
                return entry.job
            if entry in self._waiting:
                self._waiting.remove(entry)
            self._change(entry, replace(entry.job, state="cancelled"))
            process = entry.process
        if process is not None:
            process.stop()
        return entry.job

    async def watch(self, id: str, heartbeat_s: float) -> AsyncGenerator[Seen | None]:  # noqa: A002
        """The job now and whenever it changes, up to its end; None when nothing happened for a while.

        Raises NoSuchResult.
        """
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is gone, and so is who waits
                loop.call_soon_threadsafe(changed.set)

        with self._lock:
            entry = self._entry(id)
            entry.wakes.append(wake)
        try:
            told = -1
            while True:
                changed.clear()
                with self._lock:
                    seen = Seen(entry.version, entry.job)
                if seen.version != told:
                    told = seen.version
                    yield seen
                if seen.job.state in _ENDED:
                    return
                try:
                    await asyncio.wait_for(changed.wait(), heartbeat_s)
                except TimeoutError:
                    yield None
        finally:
            with self._lock:
                entry.wakes.remove(wake)

    def close(self) -> None:
        """End every process. Nothing can be started afterwards."""
        with self._lock:
            self._closed = True
            for entry in self._entries.values():
                if not entry.has_ended:
                    self._change(entry, replace(entry.job, state="cancelled"))
            self._waiting.clear()
            ending = self._processes()
            self._warm.clear()
        for process in ending:
            process.end()
        with self._ended:  # who has just started a process ends it, if given the time
            self._ended.wait_for(lambda: not self._running, _START_S)

    def processes(self) -> list[Process]:
        """Those that live, idle or not."""
        with self._lock:
            return self._processes()

    def _processes(self) -> list[Process]:
        busy = [entry.process for entry in self._entries.values() if entry.process is not None]
        return [*self._warm, *busy]

    def _entry(self, id: str) -> _Entry:  # noqa: A002
        if id not in self._entries:
            raise NoSuchResult(f"there is no job {id!r}; start it again")
        return self._entries[id]

    def _forget(self) -> None:
        """Make room for one more. Raises Conflict."""
        if self._closed:
            raise Conflict("the server is about to end; start it again")
        if len(self._entries) >= REMEMBERED:
            oldest = next((name for name, entry in self._entries.items() if entry.has_ended), None)
            if oldest is None:
                raise Conflict(f"{REMEMBERED} simulations wait already; wait for some, or cancel them")
            del self._entries[oldest]

    def _change(self, entry: _Entry, job: Job) -> None:
        entry.job = job
        entry.version += 1
        for wake in entry.wakes:
            wake()

    def _go_on(self) -> None:
        """Start what may start now."""
        while self._waiting and self._running < AT_ONCE and not self._closed:
            entry = self._waiting.popleft()
            self._running += 1
            self._change(entry, replace(entry.job, state="running", stage="starting"))
            threading.Thread(target=self._work, args=(entry,), name="keepwarm job", daemon=True).start()

    def _work(self, entry: _Entry) -> None:
        """See one job through, in a thread of its own."""
        try:
            kept = self._kept(entry)
            if kept is None or not self._asked(entry, kept, may_be_gone=True):
                self._asked(entry, Process(entry.recorded, self._idle_s))
        except Gone as gone:
            self._fail(entry, _why(gone.exit_code))
        except OSError as error:
            self._fail(entry, f"no process can be started: {error.strerror or error}; try again later")
        except Exception as error:  # noqa: BLE001 - whatever went wrong, nobody waits for ever
            self._fail(entry, f"a bug in keepwarm, {kind_and_place(error)}; please report it")
        finally:
            with self._lock:
                entry.process = None
                self._running -= 1
                self._ended.notify_all()
                self._go_on()

    def _kept(self, entry: _Entry) -> Process | None:
        """A process that knows the trace already. Ends others that would be too many."""
        with self._lock:
            kept = [each for each in self._warm if each.recorded == entry.recorded and each.is_alive()][-1:]
            for each in kept:
                self._warm.remove(each)
            ending = self._warm[: max(0, len(self._warm) + self._running - AT_ONCE)]
            del self._warm[: len(ending)]
        for other in ending:
            other.end()
        return kept[0] if kept else None

    def _asked(self, entry: _Entry, process: Process, *, may_be_gone: bool = False) -> bool:
        """Ask a process, and keep it; False: it was gone before it said a word. Raises Gone."""
        with self._lock:
            is_wanted = not entry.has_ended
            entry.process = process if is_wanted else None
        if not is_wanted:
            process.end()
            return True
        is_silent = True
        try:
            for message in process.ask(entry.job.call):
                is_silent = False
                self._heard(entry, message)
        except Gone:
            if may_be_gone and is_silent:
                return False
            raise
        self._keep(entry, process)
        return True

    def _heard(self, entry: _Entry, message: Message) -> None:
        with self._lock:
            if entry.has_ended:
                return
            match message:
                case Staged(stage, done, total):
                    job = replace(entry.job, stage=stage, done=done, total=total)
                case Answered(result):
                    job = replace(entry.job, state="done", stage="", done=0, total=0, result=result)
                case Refused(problem):
                    job = replace(entry.job, state="failed", problem=" ".join(problem.split()))
            self._change(entry, job)

    def _fail(self, entry: _Entry, problem: str) -> None:
        with self._lock:
            if not entry.has_ended:
                self._change(entry, replace(entry.job, state="failed", problem=problem))

    def _keep(self, entry: _Entry, process: Process) -> None:
        """Keep a process that has answered, for the next call; not one that was stopped at its last word."""
        with self._lock:
            fit = entry.job.state != "cancelled" and not self._closed
            if fit:
                self._warm.append(process)
        if not fit:
            process.end()


def _why(exit_code: int | None) -> str:
    return (
        f"the process that simulates ended by itself (exit code {exit_code}), perhaps for want of memory; "
        "end other programs and try again"
    )
