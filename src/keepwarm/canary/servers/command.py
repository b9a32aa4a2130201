"""A server that the user's own two commands start and stop: systemd, Slurm, Kubernetes, a script.

``CommandServer`` runs the stop command if a server answers at the base URL, waits until none does, runs the
start command with the settings in its environment and waits for ``/health``. A start command may end when it
has started the server, with exit code 0, or be the server and go on running; what it leaves in its process
group is ended after the stop command. Commands are lists of words and go through no shell; what they print
goes to ``start-N.log`` and ``stop-N.log``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from keepwarm._errors import InputError, ServerError
from keepwarm.canary.servers.base import ServerAdapter
from keepwarm.canary.servers.health import checked_url, is_up, wait_until_healthy
from keepwarm.canary.servers.logs import covered, secrets_of, tail
from keepwarm.canary.servers.process import ProcessGroup

_POLL_S = 0.1


@dataclass(frozen=True)
class CommandOptions:
    """Two commands and the address that the server then has.

    Both get this process's environment without ``COMPUTECACHE_*`` and with the settings given to ``start``.
    To hand the settings on to the server is up to the start command.
    """

    base_url: str
    start: tuple[str, ...]
    stop: tuple[str, ...]
    ready_within_s: float = 600.0
    stop_within_s: float = 60.0


class CommandServer(ServerAdapter):
    """Runs the commands; ``logs`` is the folder for what they print, made if it is missing.

    Raises:
        InputError: a command is empty; the base URL is none, or holds a password.
    """

    def __init__(self, options: CommandOptions, logs: Path) -> None:
        if not options.start or not options.stop:
            raise InputError("a command to start and one to stop the server are needed; name both")
        self._options = options
        self._base_url = checked_url(options.base_url)
        self._logs = logs
        self._runs = 0
        self._log: Path | None = None
        self._group: ProcessGroup | None = None
        self._environment: dict[str, str] = {}

    @property
    def base_url(self) -> str:
        return self._base_url

    def start(self, settings: Mapping[str, str]) -> None:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("COMPUTECACHE_")}
        self._environment = {**inherited, **settings}
        if self._group is not None or is_up(self.base_url):
            self._end()
        if is_up(self.base_url):
            raise ServerError(
                f"{self.base_url} still answers after the stop command {self._options.stop[0]!r}; "
                f"a canary needs a command that stops the server; see {str(self._log)!r}"
            )
        try:
            self._group = self._run("start", self._options.start)
            reason = wait_until_healthy(self.base_url, self._options.ready_within_s, self._failed)
        except BaseException:  # an interrupt must not leave a server behind
            self.stop()
            raise
        if reason:
            log, last_lines = self._log, self.log_tail()
            self.stop()
            raise ServerError(
                f"the server was not started: {reason}; see {str(log)!r}, which ends with\n{last_lines}"
            )

    def stop(self) -> None:
        if self._group is not None:
            self._end()

    def log_tail(self, lines: int = 40) -> str:
        return covered(tail(self._log, lines), secrets_of(self._environment, self._options.start))

    def _failed(self) -> str:
        assert self._group is not None
        code = self._group.exit_code()
        return f"the start command ended with exit code {code}" if code else ""

    def _end(self) -> None:
        """The stop command, until nobody answers; then whatever the start command left in its group."""
        patience_s = self._options.stop_within_s
        try:
            stopping = self._run("stop", self._options.stop)
            limit = time.monotonic() + patience_s
            while not self._has_stopped(stopping) and time.monotonic() < limit:
                time.sleep(_POLL_S)
            stopping.end(patience_s)
        except ServerError:  # it cannot be run; whoever asked sees that the server still answers
            pass
        finally:
            group, self._group = self._group, None
            if group is not None:
                group.end(patience_s)

    def _has_stopped(self, stopping: ProcessGroup) -> bool:
        """Nothing more to wait for: the command failed, or it is through and nobody answers any more."""
        code = stopping.exit_code()
        return code is not None and (code != 0 or not is_up(self.base_url))

    def _run(self, name: str, argv: tuple[str, ...]) -> ProcessGroup:
        self._runs += 1
        log = self._logs / f"{name}-{self._runs}.log"
        try:
            self._logs.mkdir(parents=True, exist_ok=True)
            group = ProcessGroup(argv, self._environment, log)
        except (OSError, ValueError) as error:  # ValueError: a null byte in a setting
            raise ServerError(
                f"the {name} command {argv[0]!r} cannot be run: {error}; "
                f"name a program that exists, and check the folder {str(self._logs)!r}"
            ) from error
        self._log = log
        return group
