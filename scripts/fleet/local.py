"""vLLM servers with keepwarm's plugin on this machine's CPUs, and vllm-router before them."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

from keepwarm._errors import ServerError
from keepwarm.canary.servers.local import LocalOptions, LocalServer
from keepwarm.canary.servers.process import LOOPBACK, reserved_port
from scripts.fleet import metrics
from scripts.fleet.router import Policy, Router

MODEL = "model"  # what requests call it
CACHEWISE = {"KEEPWARM_SCHEDULING": "active-set", "KEEPWARM_EVICTION": "cachewise"}


def replica_name(number: int) -> str:
    """What replica ``number`` puts into ``model`` of its answers: who answered, whatever router chose."""
    return f"replica-{number}"


class Fleet:
    """``size`` equal servers of ``options``, started side by side, and a router; ``folder`` gets the logs.

    Use it as a context. Servers get the variables of ``settings``, and take hints that bring ``token``. All
    ports are free ones that outlast a restart.
    """

    def __init__(
        self, options: LocalOptions, settings: Mapping[str, str], size: int, folder: Path, *, token: str
    ) -> None:
        self._folder = folder
        self._router: Router | None = None
        self._routers = 0
        # A server ends with the thread that started it, so these threads stay as long as the fleet.
        self._starters = ThreadPoolExecutor(size)
        self._control_ports = [reserved_port() for _ in range(size)]
        self._settings = [
            {
                "VLLM_LOGGING_LEVEL": "INFO",
                **settings,
                "KEEPWARM_CONTROL_PORT": str(port.getsockname()[1]),
                "KEEPWARM_CONTROL_TOKEN": token,
            }
            for port in self._control_ports
        ]
        self.replicas = [
            LocalServer(_named(options, number), folder / replica_name(number)) for number in range(size)
        ]

    def __enter__(self) -> Self:
        try:
            for started in [self._starters.submit(self._start, number) for number in self._numbers]:
                started.result()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def router(self) -> Router:
        if self._router is None:
            raise ServerError("no router runs before the fleet; call route first")
        return self._router

    @property
    def control_urls(self) -> list[str]:
        """Where each replica takes hints."""
        return [f"http://{LOOPBACK}:{port.getsockname()[1]}" for port in self._control_ports]

    def route(self, policy: Policy, arguments: Sequence[str] = ()) -> Router:
        """A router that knows nothing yet, in place of the one before."""
        if self._router is not None:
            self._router.stop()
        self._routers += 1
        urls = [replica.base_url for replica in self.replicas]
        log = self._folder / f"router-{self._routers}.log"
        self._router = Router(urls, policy, log, arguments=arguments)
        return self._router

    def kill(self, number: int) -> None:
        """SIGKILL to the server's own process: what a crash or the kernel does when memory runs out."""
        self._signal(number, signal.SIGKILL)

    def pause(self, number: int) -> None:
        """From here on nothing leaves the server, until ``resume``; it can be killed meanwhile."""
        self._signal(number, signal.SIGSTOP)

    def resume(self, number: int) -> None:
        """Let a paused server go on."""
        self._signal(number, signal.SIGCONT)

    def restart(self, number: int) -> None:
        """Start a replica again where it was; returns when it answers."""
        self._starters.submit(self._start, number).result()

    def empty_caches(self) -> None:
        """Of all replicas. Raises ServerError: one could not, since requests run."""
        for replica in self.replicas:
            answer = httpx2.post(f"{replica.base_url}/reset_prefix_cache", timeout=30, trust_env=False)
            if answer.status_code != httpx2.codes.OK or "false" in answer.text.lower():
                raise ServerError(f"a cache was not emptied: {answer.text[:200]!r}")

    def counts(self, number: int) -> metrics.Metrics:
        """What a replica has counted since its start."""
        return metrics.read(f"{self.replicas[number].base_url}/metrics")

    def stop(self) -> None:
        """End all of it, each process by its own id. A second call does nothing."""
        if self._router is not None:
            self._router.stop()
            self._router = None
        for replica in self.replicas:
            replica.stop()
        self._starters.shutdown()
        for port in self._control_ports:
            port.close()

    @property
    def _numbers(self) -> range:
        return range(len(self.replicas))

    def _signal(self, number: int, what: signal.Signals) -> None:
        pid = self.replicas[number].pid
        if pid is None:
            raise ServerError(f"{replica_name(number)} does not run")
        os.kill(pid, what)

    def _start(self, number: int) -> None:
        self.replicas[number].start(self._settings[number])


def _named(options: LocalOptions, number: int) -> LocalOptions:
    # vLLM takes requests for either name, and answers with the first.
    names = ("--served-model-name", replica_name(number), MODEL)
    return replace(options, arguments=(*options.arguments, *names))
