"""A server that is one service of a docker compose project.

``ComposeServer`` writes the settings to an override file, the last of the project's ``--file``s, and runs

    docker compose --file … --file OVERRIDE up --detach --wait --wait-timeout S
        --force-recreate --no-deps --no-build --pull never SERVICE

Then it waits for ``/health`` at the base URL. The container is made anew from the image that is there:
nothing is built, pulled or installed, and no other service is touched. ``stop`` is ``docker compose … stop
SERVICE``. What the compose file or its ``.env`` sets besides stays; ``COMPUTECACHE_*`` of the shell does not
count.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from keepwarm._errors import InputError, ServerError
from keepwarm._files import write_whole
from keepwarm.canary.servers.base import ServerAdapter
from keepwarm.canary.servers.health import checked_url, wait_until_healthy
from keepwarm.canary.servers.logs import covered, last_lines, secrets_of

_DOCKER_SLACK_S = 60.0  # docker notices its own time limit first
_LOGS_WITHIN_S = 30.0


@dataclass(frozen=True)
class ComposeOptions:
    """The project and its service. ``override`` is written by every start and stays there afterwards.

    ``files`` are the project's compose files in order; the folder of the first is the project's, and its
    ``.env`` is read. ``base_url`` is where the service's published port answers.
    """

    base_url: str
    service: str
    files: tuple[Path, ...]
    override: Path
    ready_within_s: float = 1800.0
    stop_within_s: float = 60.0


class ComposeServer(ServerAdapter):
    """Starts and stops the service.

    Raises:
        InputError: no compose file is named, or the base URL is none or holds a password.
    """

    def __init__(self, options: ComposeOptions) -> None:
        if not options.files:
            raise InputError("no compose file is named; name the project's files in order, say compose.yaml")
        self._options = options
        self._base_url = checked_url(options.base_url)
        self._started = False

    @property
    def base_url(self) -> str:
        return self._base_url

    def start(self, settings: Mapping[str, str]) -> None:
        options = self._options
        write_whole(options.override, override_of(options.service, settings))
        self._started = True
        try:
            done = self._compose(
                *("up", "--detach", "--wait", "--wait-timeout", str(math.ceil(options.ready_within_s))),
                *("--force-recreate", "--no-deps", "--no-build", "--pull", "never", options.service),
                within_s=options.ready_within_s + _DOCKER_SLACK_S,
            )
            reason = _why_failed(done) or wait_until_healthy(
                self.base_url, options.ready_within_s, ended=lambda: ""
            )
        except BaseException:  # an interrupt must not leave a server behind
            self.stop()
            raise
        if reason:
            log_end = self.log_tail()
            self.stop()
            raise ServerError(
                f"docker compose did not start the service {options.service!r}: "
                f"{covered(reason, _secrets())}; its log ends with\n{log_end}"
            )

    def stop(self) -> None:
        if not self._started:
            return
        self._started = False
        try:
            self._compose(
                *("stop", "--timeout", str(math.ceil(self._options.stop_within_s)), self._options.service),
                within_s=self._options.stop_within_s + _DOCKER_SLACK_S,
            )
        except ServerError:  # docker is gone or hangs; the next start says so
            return

    def log_tail(self, lines: int = 40) -> str:
        try:
            done = self._compose(
                *("logs", "--no-color", "--no-log-prefix", "--tail", str(lines), self._options.service),
                within_s=_LOGS_WITHIN_S,
            )
        except ServerError:
            return ""
        return covered(last_lines(done.stdout, lines), _secrets())

    def _compose(self, *arguments: str, within_s: float) -> subprocess.CompletedProcess[str]:
        """One docker command on this project. Raises ServerError: no docker, or no end in time."""
        paths = (*self._options.files, self._options.override)
        files = (word for path in paths for word in ("--file", str(path)))
        argv = ["docker", "compose", *files, *arguments]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("COMPUTECACHE_")}
        try:
            return subprocess.run(  # noqa: S603  # a list of words, never through a shell
                argv,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,  # `logs` splits what the container printed over both
                encoding="utf-8",
                errors="replace",
                timeout=within_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ServerError(
                f"docker compose {arguments[0]} did not end within {within_s:g} s; does the engine answer?"
            ) from error
        except OSError as error:
            raise ServerError(
                f"docker cannot be run: {error.strerror}; install docker with its compose plugin"
            ) from error


def override_of(service: str, settings: Mapping[str, str]) -> bytes:
    """A compose file, in JSON, that adds ``settings`` to the service's environment.

    A dollar sign is doubled, since compose replaces ``$NAME``.
    """
    environment = {name: value.replace("$", "$$") for name, value in sorted(settings.items())}
    return json.dumps({"services": {service: {"environment": environment}}}, indent=2).encode() + b"\n"


def _why_failed(done: subprocess.CompletedProcess[str]) -> str:
    """Docker's own last line, or nothing if all went well."""
    if not done.returncode:
        return ""
    return last_lines(done.stdout.strip(), 1) or f"exit code {done.returncode}"


def _secrets() -> frozenset[str]:
    return secrets_of(os.environ)
