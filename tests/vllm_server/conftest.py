"""These tests start vLLM's own HTTP server on CPUs: `make test-vllm` runs them, in vLLM's environment.

It sets KEEPWARM_TEST_VLLM; elsewhere they are not collected. Where they are, missing models are an error.
For every module here:

- ``tiny_model_dir``, ``smollm2_dir``: the folders that scripts/make_models.py fills. ``tiny`` has no weights.
- ``cpu_server(settings, model=..., **options)``: a running ``LocalServer`` with ``settings`` in its
  environment, the tiny model unless another folder is given, and further options as ``cpu_options`` takes
  them (128 blocks of 16 tokens unless said otherwise). Its prefix cache is empty.
- ``served_model``: what requests call the model, whichever it is.

A start takes half a minute, and the machine may have two cores: at most one server runs at a time. The one
that runs is handed out again if it is asked for with the same arguments, and stopped if it is not; it ends
with the test run. A test may stop or restart it itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from keepwarm.canary.servers.health import is_healthy
from keepwarm.canary.servers.local import LocalServer, cpu_options

collect_ignore_glob = [] if os.environ.get("KEEPWARM_TEST_VLLM") else ["test_*.py"]

SERVED_MODEL = "model"


class CpuServers:
    """The one server that runs, and what it was asked for with."""

    def __init__(self, tiny: Path, logs: Path) -> None:
        self._tiny = tiny
        self._logs = logs
        self._asked: object = None
        self._server: LocalServer | None = None
        self._starts = 0

    def __call__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        model: Path | None = None,
        arguments: tuple[str, ...] = (),
        **options: Any,
    ) -> LocalServer:
        settings = dict(settings or {})
        asked = (settings, model, arguments, options)
        server = self._server
        if server is None or asked != self._asked or server.pid is None or not is_healthy(server.base_url):
            self.stop()
            server = self._started(settings, model or self._tiny, arguments, options)
            self._asked, self._server = asked, server
        reset_prefix_cache(server)
        return server

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None

    def _started(
        self, settings: Mapping[str, str], model: Path, arguments: tuple[str, ...], options: dict[str, Any]
    ) -> LocalServer:
        dummy = ("--load-format", "dummy") if not list(model.glob("*.safetensors")) else ()
        named = ("--served-model-name", SERVED_MODEL)
        self._starts += 1
        server = LocalServer(
            cpu_options(str(model), arguments=(*named, *dummy, *arguments), **options),
            self._logs / str(self._starts),
        )
        # Tests that load vLLM into this process quieten it there; what a server says is read.
        server.start({"VLLM_LOGGING_LEVEL": "INFO", **settings})
        return server


def reset_prefix_cache(server: LocalServer) -> None:
    """Empty the prefix cache; an error if the server could not, since blocks are in use."""
    answer = httpx2.post(f"{server.base_url}/reset_prefix_cache", timeout=30, trust_env=False)
    answer.raise_for_status()
    assert not answer.content or answer.json().get("success", True), answer.text


@pytest.fixture(scope="session")
def models(repository: Path) -> Path:
    """The folder of models: KEEPWARM_TEST_MODELS, else build/models."""
    return Path(os.environ.get("KEEPWARM_TEST_MODELS", repository / "build" / "models"))


@pytest.fixture(scope="session")
def tiny_model_dir(models: Path) -> Path:
    """Two layers of Qwen3 without weights, its real tokenizer and chat template; for --load-format dummy."""
    return _made(models / "tiny")


@pytest.fixture(scope="session")
def smollm2_dir(models: Path) -> Path:
    """SmolLM2-135M-Instruct in float32: a real, small model."""
    return _made(models / "smollm2")


@pytest.fixture(scope="session")
def served_model() -> str:
    """The model's name in requests, whatever its folder."""
    return SERVED_MODEL


@pytest.fixture(scope="session")
def cpu_server(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CpuServers]:
    """Call it for a running server, see above."""
    servers = CpuServers(tiny_model_dir, tmp_path_factory.mktemp("servers"))
    yield servers
    servers.stop()


def _made(folder: Path) -> Path:
    if not (folder / "config.json").is_file():
        pytest.fail(f"no model in {str(folder)!r}; `make vllm-env` makes it, for {sys.executable!r}")
    return folder
