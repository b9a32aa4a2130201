"""vllm-router as a process of this machine, on free ports of loopback."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, get_args

import httpx2

from keepwarm._errors import ServerError
from keepwarm.canary.servers.health import wait_until_healthy
from keepwarm.canary.servers.logs import tail
from keepwarm.canary.servers.process import LOOPBACK, ProcessGroup, reserved_port, tied_to_this_process

REPOSITORY = Path(__file__).resolve().parents[2]
ROUTER_PYTHON = Path(os.environ.get("KEEPWARM_ROUTER_PYTHON", REPOSITORY / ".venvs/router/bin/python"))
Policy = Literal["round_robin", "cache_aware", "consistent_hash", "sticky_least_loaded"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
# deploy/fleet/compose.yaml has the same ones, and docs/how-to/run-a-fleet.md says why; a test compares them.
RECOVERY = (
    *("--health-check-interval-secs", "1", "--health-check-timeout-secs", "5"),
    *("--health-failure-threshold", "3", "--health-success-threshold", "1"),
    *("--cb-failure-threshold", "3", "--cb-success-threshold", "1", "--cb-timeout-duration-secs", "2"),
    *("--retry-max-retries", "5", "--retry-initial-backoff-ms", "100", "--retry-max-backoff-ms", "2000"),
    *("--request-timeout-secs", "600", "--worker-startup-check-interval", "1"),
)
_READY_WITHIN_S = 120.0
_STOP_WITHIN_S = 20.0


class Router:
    """The process; ``python`` is of the environment with vllm-router, ``log`` gets what it prints.

    Both addresses stay the same until ``stop``. It ends with the thread that started it. Raises ServerError:
    it cannot be started, or is not ready in time.
    """

    def __init__(
        self,
        worker_urls: Sequence[str],
        policy: Policy,
        log: Path,
        *,
        arguments: Sequence[str] = (),
        python: Path = ROUTER_PYTHON,
    ) -> None:
        self._ports = (reserved_port(), reserved_port())
        self._log = log
        port, metrics_port = (str(_number(port)) for port in self._ports)
        argv = [*tied_to_this_process(str(python)), "-m", "vllm_router.launch_router"]
        argv += ["--host", LOOPBACK, "--port", port, "--prometheus-port", metrics_port]
        argv += ["--policy", policy, "--worker-urls", *worker_urls, *RECOVERY, *arguments]
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._group = ProcessGroup(argv, os.environ, log)
        except OSError as error:
            self._release()
            raise ServerError(f"vllm-router cannot be started with {str(python)!r}: {error}") from error
        try:
            reason = wait_until_healthy(self.base_url, _READY_WITHIN_S, self._ended)
            if reason:
                raise ServerError(
                    f"vllm-router was not started: {reason}; {str(log)!r} ends with\n{tail(log, 20)}"
                )
        except BaseException:
            self.stop()
            raise

    @property
    def base_url(self) -> str:
        return f"http://{LOOPBACK}:{_number(self._ports[0])}"

    @property
    def metrics_url(self) -> str:
        return f"http://{LOOPBACK}:{_number(self._ports[1])}/metrics"

    def healthy(self) -> dict[str, bool]:
        """What the router's own health checks say of each server, by address."""
        answer = httpx2.get(f"{self.base_url}/workers", timeout=10, trust_env=False)
        answer.raise_for_status()
        return {worker["url"]: worker["is_healthy"] for worker in answer.json()["workers"]}

    def stop(self) -> None:
        """End it in good order. A second call does nothing."""
        self._group.end(_STOP_WITHIN_S)
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _release(self) -> None:
        for port in self._ports:
            port.close()

    def _ended(self) -> str:
        code = self._group.exit_code()
        return "" if code is None else f"it ended with exit code {code}"


def _number(port: socket.socket) -> int:
    return int(port.getsockname()[1])
