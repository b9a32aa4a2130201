"""Adapters over a fake server, and what is known of it from outside."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keepwarm.canary.servers.base import ServerAdapter
from keepwarm.canary.servers.command import CommandOptions, CommandServer
from keepwarm.canary.servers.compose import ComposeOptions, ComposeServer
from keepwarm.canary.servers.local import LocalOptions, LocalServer

HERE = Path(__file__).parent
FAKE_SERVER = HERE / "fake_server.py"


class Printed(NamedTuple):
    """The fake server's first line."""

    argv: list[str]
    settings: dict[str, str]
    pid: int
    engine: int


def printed(adapter: ServerAdapter) -> Printed:
    line = next(line for line in adapter.log_tail(1000).splitlines() if line.startswith("{"))
    return Printed(**json.loads(line))


def is_running(pid: int) -> bool:
    """Whether it is there and no zombie: this machine's init may be slow to collect orphans."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


@pytest.fixture
def port() -> Iterator[int]:
    """A free port that stays ours: the fake server binds it with SO_REUSEADDR, as vLLM does."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@pytest.fixture
def fake_vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The fake server as ``vllm.entrypoints.openai.api_server``, for this interpreter."""
    package = tmp_path / "site" / "vllm" / "entrypoints" / "openai"
    package.mkdir(parents=True)
    for folder in (package, package.parent, package.parent.parent):
        (folder / "__init__.py").touch()
    shutil.copyfile(FAKE_SERVER, package / "api_server.py")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    return tmp_path / "site"


@pytest.fixture
def fake_docker(tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ``docker`` in front of PATH; the folder where it keeps its calls."""
    folder = tmp_path / "docker"
    folder.mkdir()
    program = folder / "docker"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "fake_docker.py"}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_DOCKER", str(folder))
    monkeypatch.setenv("FAKE_SERVICE", str(FAKE_SERVER))
    monkeypatch.setenv("FAKE_PORT", str(port))
    return folder


@pytest.fixture
def local_server(fake_vllm: Path, tmp_path: Path) -> Iterator[LocalServer]:
    with LocalServer(
        LocalOptions("some/model", ready_within_s=60, stop_within_s=5), tmp_path / "logs"
    ) as server:
        yield server


@pytest.fixture
def compose_server(fake_docker: Path, port: int, tmp_path: Path) -> Iterator[ComposeServer]:
    options = ComposeOptions(
        base_url=f"http://127.0.0.1:{port}/v1",
        service="vllm",
        files=(Path("compose.yaml"), Path("compose.gpu.yaml")),
        override=tmp_path / "computecache.json",
        ready_within_s=30,
    )
    with ComposeServer(options) as server:
        yield server


@pytest.fixture
def command_server(port: int, tmp_path: Path) -> Iterator[CommandServer]:
    """Its start command is the server itself."""
    stop = (
        f"import os, pathlib, signal; os.kill(int(pathlib.Path({str(tmp_path / 'pid')!r}).read_text()), 15)"
    )
    start = "import os, pathlib, sys; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); "
    start += "os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
    options = CommandOptions(
        base_url=f"http://127.0.0.1:{port}",
        start=(sys.executable, "-c", start, str(tmp_path / "pid"), str(FAKE_SERVER), "--port", str(port)),
        stop=(sys.executable, "-c", stop),
        ready_within_s=30,
        stop_within_s=10,
    )
    with CommandServer(options, tmp_path / "logs") as server:
        yield server


@pytest.fixture(params=["local_server", "compose_server", "command_server"])
def adapter(request: pytest.FixtureRequest) -> ServerAdapter:
    """Every adapter; add yours here, and the conformance suite holds it to the contract."""
    found: ServerAdapter = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def behave(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """How the fake server behaves from the next start on: dies, mute, stubborn."""
    return lambda behaviour: monkeypatch.setenv("FAKE_SERVER", behaviour)
