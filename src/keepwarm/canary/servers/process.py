"""One process we started and all it started, ended together: none may outlive the canary."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

LOOPBACK = "127.0.0.1"
_POLL_S = 0.05
# prctl(PR_SET_PDEATHSIG, SIGTERM), then become the server: the setting outlasts exec.
_TIED = (
    "import ctypes, os, sys; parent = int(sys.argv[1]); ctypes.CDLL(None).prctl(1, 15); "
    "os.getppid() == parent or sys.exit(1); os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
)


class ProcessGroup:
    """A command in a process group of its own; its output goes to ``log``, its input is empty.

    Its end is noticed without collecting it, so that its id, which is the group's too, cannot be given to a
    stranger before ``end`` is through. ``OSError`` if the command cannot be run or the log not written.
    """

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603  # the caller's own command, never through a shell
                argv,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = self._process.pid

    def exit_code(self) -> int | None:
        """The command's exit code, minus the number of the signal that ended it; None while it runs."""
        if self._process.returncode is not None:
            return self._process.returncode
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def members(self) -> list[int]:
        """Ids of the group's processes that still run, the command's among them. Does not mutate."""
        return [pid for pid in _process_ids() if _running_in_group(pid, self.pid)]

    def end(self, patience_s: float) -> None:
        """SIGTERM to the command; SIGKILL to what is left of its group after ``patience_s``. Mutates."""
        if self._process.returncode is not None:
            return
        if self.exit_code() is None:
            os.kill(self.pid, signal.SIGTERM)
        else:  # what it left behind has nobody who would end it in good order
            os.killpg(self.pid, signal.SIGTERM)
        self._wait_until_gone(patience_s)
        while self.members():
            os.killpg(self.pid, signal.SIGKILL)
            self._wait_until_gone(1.0)
        self._process.wait()

    def _wait_until_gone(self, patience_s: float) -> None:
        limit = time.monotonic() + patience_s
        while self.members() and time.monotonic() < limit:
            time.sleep(_POLL_S)


def tied_to_this_process(python: str) -> list[str]:
    """How to call the interpreter ``python`` so that it gets SIGTERM when the thread that started it ends.

    Its arguments follow. A process that dies, even by SIGKILL, takes all its threads with it.
    """
    return [python, "-c", _TIED, str(os.getpid())]


def reserved_port() -> socket.socket:
    """A socket bound to a free loopback port, not listening.

    As long as it is open, Linux gives the port to nobody who does not ask for it by number with SO_REUSEADDR,
    as vLLM does. So nobody takes it in the seconds that vLLM needs before it binds.
    """
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((LOOPBACK, 0))
    return holder


def _process_ids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _running_in_group(pid: int, group: int) -> bool:
    """Whether it is in the group and no zombie; proc_pid_stat(5)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:  # it ended while we looked
        return False
    state, _parent, process_group = stat.rpartition(b")")[2].split()[:3]  # the name before may hold blanks
    return int(process_group) == group and state not in (b"Z", b"X")
