"""A vLLM server as a process of this machine.

``LocalServer`` runs ``python -m vllm.entrypoints.openai.api_server --model … --host 127.0.0.1 --port …`` in a
process group of its own, writes what it prints to ``server-N.log`` (one file for each start) and waits for
``/health``. It ends the server by its own process id and then whatever is left of its group, the engine's
processes included. If this process dies, even by SIGKILL, Linux ends the server.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from keepwarm._errors import ServerError
from keepwarm.canary.servers.base import ServerAdapter
from keepwarm.canary.servers.health import wait_until_healthy
from keepwarm.canary.servers.logs import covered, secrets_of, tail
from keepwarm.canary.servers.process import LOOPBACK, ProcessGroup, reserved_port, tied_to_this_process

# A server that is measured gets its settings from `start` alone, and no metrics that an earlier one left.
_NOT_INHERITED = ("COMPUTECACHE_", "PROMETHEUS_MULTIPROC_DIR")


@dataclass(frozen=True)
class LocalOptions:
    """How to start vLLM here; ``cpu_options`` makes one for machines without a GPU.

    ``python`` is the interpreter of the environment that vLLM is installed in. The server gets this process's
    environment without ``COMPUTECACHE_*`` and ``PROMETHEUS_MULTIPROC_DIR``, then ``environment``, then the
    settings given to ``start``. It answers on a free port of 127.0.0.1 that stays the same until ``stop``.
    """

    model: str
    python: str = sys.executable
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    ready_within_s: float = 300.0
    stop_within_s: float = 20.0


def cpu_options(
    model: str,
    *,
    python: str = sys.executable,
    block_size_tokens: int = 16,
    pool_blocks: int = 128,
    max_model_len_tokens: int = 1024,
    arguments: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> LocalOptions:
    """A small, offline server on this machine's CPUs, with all the metrics and ``/reset_prefix_cache``.

    ``pool_blocks`` counts the null block, as vLLM does: 128 are 127 usable. A CPU takes blocks of 16 tokens
    only with the plugin of ``tests/vllm_plugins/small_blocks`` installed; 32 need nothing. float32, since
    bfloat16 is five times slower without AVX-512; eager, since compilation takes minutes and gains nothing.
    """
    flags = (
        *("--dtype", "float32", "--enforce-eager"),
        *("--block-size", str(block_size_tokens), "--num-gpu-blocks-override", str(pool_blocks)),
        *("--max-model-len", str(max_model_len_tokens)),
        *("--kv-cache-metrics", "--kv-cache-metrics-sample", "1.0", "--enable-prompt-tokens-details"),
    )
    cpus = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))
    variables = {
        "VLLM_CPU_OMP_THREADS_BIND": cpus,
        "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB; the override above decides how much of it is used
        "VLLM_SERVER_DEV_MODE": "1",  # serves /reset_prefix_cache
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    return LocalOptions(model, python, (*flags, *arguments), {**variables, **(environment or {})})


class LocalServer(ServerAdapter):
    """Starts and ends one vLLM process group; ``logs`` is the folder for its logs, made if it is missing."""

    def __init__(self, options: LocalOptions, logs: Path) -> None:
        self._options = options
        self._logs = logs
        self._starts = 0
        self._log: Path | None = None
        self._group: ProcessGroup | None = None
        self._port: socket.socket | None = None
        self._secrets: frozenset[str] = frozenset()

    @property
    def base_url(self) -> str:
        if self._port is None:
            raise ServerError("the local server has no address yet; start it first")
        return f"http://{LOOPBACK}:{self._port.getsockname()[1]}"

    @property
    def pid(self) -> int | None:
        """The API server's process id, which is also its group's; None if none runs. Does not mutate."""
        return None if self._group is None else self._group.pid

    def start(self, settings: Mapping[str, str]) -> None:
        self._end()
        try:
            self._spawn(settings)
            reason = wait_until_healthy(self.base_url, self._options.ready_within_s, self._ended)
        except BaseException:  # an interrupt must not leave a server behind
            self.stop()
            raise
        if reason:
            last_lines = self.log_tail()
            self.stop()
            raise ServerError(
                f"vLLM with the model {self._options.model!r} was not started: {reason}; "
                f"see {str(self._log)!r}, which ends with\n{last_lines}"
            )

    def stop(self) -> None:
        self._end()
        if self._port is not None:
            self._port.close()
            self._port = None

    def log_tail(self, lines: int = 40) -> str:
        return covered(tail(self._log, lines), self._secrets)

    def _spawn(self, settings: Mapping[str, str]) -> None:
        options = self._options
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_INHERITED)}
        environment = {**inherited, **options.environment, **settings}
        self._secrets = secrets_of(environment, options.arguments)
        if self._port is None:
            self._port = reserved_port()
        port = str(self._port.getsockname()[1])
        self._starts += 1
        self._log = self._logs / f"server-{self._starts}.log"
        argv = [*tied_to_this_process(options.python), "-m", "vllm.entrypoints.openai.api_server"]
        argv += ["--model", options.model]
        argv += [*options.arguments, "--host", LOOPBACK, "--port", port]
        try:
            self._logs.mkdir(parents=True, exist_ok=True)
            self._group = ProcessGroup(argv, environment, self._log)
        except (OSError, ValueError) as error:  # ValueError: a null byte in a setting
            raise ServerError(
                f"vLLM cannot be started with {options.python!r}: {error}; "
                f"name the interpreter of the environment with vLLM, and check the folder {str(self._logs)!r}"
            ) from error

    def _ended(self) -> str:
        assert self._group is not None
        code = self._group.exit_code()
        return "" if code is None else f"it ended with exit code {code}"

    def _end(self) -> None:
        group, self._group = self._group, None
        if group is not None:
            group.end(self._options.stop_within_s)
