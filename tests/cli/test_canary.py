"""The commands alone: what they ask for, print, write, and exit with."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import keepwarm.canary.choose
import keepwarm.canary.runs
from keepwarm.canary.choose import ServerChoice, adapter_for
from keepwarm.canary.pressure import PressureOptions
from keepwarm.canary.runs import Instruments
from keepwarm.canary.servers.base import ServerAdapter
from keepwarm.canary.servers.command import CommandServer
from keepwarm.canary.servers.compose import ComposeServer
from keepwarm.canary.servers.local import LocalServer
from tests.canary.fake_server import PoolServer
from tests.cli.conftest import Keepwarm
from tests.cli.test_commands import one_line

QUICK = ("--flood", "1,8", "--hot-tokens", "800", "--ttft-budget", "1000")


@pytest.fixture
def run(keepwarm_cli: Keepwarm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Keepwarm:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: keepwarm_cli("canary", *arguments, KEEPWARM_API_KEY="k-secret")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> PoolServer:
    """The reference pool stands in for every way to start a server."""
    server = PoolServer()
    replace(monkeypatch, server)
    return server


def replace(monkeypatch: pytest.MonkeyPatch, server: PoolServer) -> None:
    def adapter(choice: ServerChoice, logs: Path) -> ServerAdapter:
        return server

    def instruments(options: PressureOptions, **choices: Any) -> Instruments:
        assert choices.pop("api_key") == "k-secret"
        return server.instruments(options, **choices)

    monkeypatch.setattr(keepwarm.canary.choose, "adapter_for", adapter)
    monkeypatch.setattr(keepwarm.canary.runs, "instruments", instruments)


def test_accepted(run: Keepwarm, server: PoolServer) -> None:
    result = run("run", *QUICK, "--out", "here/record", "--device", "a test")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("# Canary: accepted, final mode active\n")
    assert "- device: a test\n" in result.stdout
    assert [line.split(":")[1].strip() for line in result.stderr.splitlines()] == [
        "baseline", "candidate", "rollback drill",
    ]  # fmt: skip
    assert result.stdout == Path("here/record/canary.md").read_text()
    record = Path("here/record/canary.json").read_text()
    assert json.loads(record)["accepted"] is True
    assert "k-secret" not in record + result.output
    assert server.mode == "stopped"


def test_json_and_nothing_else(run: Keepwarm, server: PoolServer) -> None:
    result = run("run", *QUICK, "--json")
    assert json.loads(result.stdout)["schema"] == "keepwarm.canary/1"
    assert result.stdout_bytes == Path("canary/canary.json").read_bytes()


def test_refused_is_recorded_and_exits_1(run: Keepwarm, monkeypatch: pytest.MonkeyPatch) -> None:
    # Somebody else hits 16 tokens during each request: usage and counters disagree.
    server = PoolServer(active={"other_hits": 16})
    replace(monkeypatch, server)
    result = run("run", *QUICK)
    assert result.exit_code == 1
    assert "consistent (usage and the server's counters agree)" in result.stderr.splitlines()[-1]
    document = json.loads(Path("canary/canary.json").read_text())
    assert (document["accepted"], document["final_mode"]) == (False, "lru")
    assert server.mode == "stopped"


def test_left_running(run: Keepwarm, server: PoolServer) -> None:
    result = run("run", *QUICK, "--leave-running", "--set", "COMPUTECACHE_PROTECTED_SHARE=0.5")
    assert result.exit_code == 0
    assert server.settings == {"COMPUTECACHE_PROTECTED_SHARE": "0.5", "COMPUTECACHE_MODE": "active"}


def test_tune(run: Keepwarm, server: PoolServer) -> None:
    result = run("tune", *QUICK[:4], "--scan-limits", "4,16", "--p95-ttft-budget", "60s")
    assert result.exit_code == 0, result.stderr
    assert "| window   | 16 " in result.stdout
    document = json.loads(Path("canary/canary-tuning.json").read_text())
    assert document["options"]["p95_ttft_budget"] == {"value": 60.0, "unit": "s"}
    assert document["choices"] == [
        {"rule": "boundary", "scan_limit": 4},
        {"rule": "window", "scan_limit": None},
    ]
    assert server.mode == "stopped"


def test_tuning_that_finds_nothing_exits_1(run: Keepwarm, server: PoolServer) -> None:
    result = run("tune", *QUICK[:4], "--scan-limits", "4", "--p95-ttft-budget", "0.000001s")
    assert result.exit_code == 1
    assert "some scan limit keeps the prefix within the budget" in result.stderr.splitlines()[-1]
    assert json.loads(Path("canary/canary-tuning.json").read_text())["final_mode"] == "lru"


def test_a_termination_ends_the_server(
    run: Keepwarm, server: PoolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = server.handle

    def terminated(request: Any) -> Any:
        if server.mode == "active":
            os.kill(os.getpid(), signal.SIGTERM)
        return handle(request)

    monkeypatch.setattr(server, "handle", terminated)
    before = signal.getsignal(signal.SIGTERM)
    result = run("run", *QUICK, "--leave-running")
    assert result.exit_code == 130
    assert server.mode == "stopped"
    assert signal.getsignal(signal.SIGTERM) is before
    assert not Path("canary/canary.json").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "no server is named"),
        (["run", "--local-model", ".", "--compose", "c.yaml"], "exclude each other"),
        (["run", "--local-model", "nowhere"], "holds no config.json"),
        (["run", "--local-model", ".", "--leave-running"], "ends with this command"),
        (["run", "--compose", "nowhere.yaml"], "is no file"),
        (["run", "--start-command", "start it"], "needs --stop-command"),
        (["run", "--start-command", "start it", "--stop-command", "stop"], "needs --base-url"),
        (["run", "--start-command", "'", "--stop-command", "x", "--base-url", "http://h"], "into words"),
        (["run", "--local-model", ".", "--set", "COMPUTECACHE_MODE=lru"], "by itself"),
        (["run", "--local-model", ".", "--flood", "4,2"], "does not rise"),
        (["tune", "--local-model", ".", "--set", "COMPUTECACHE_RULE=window"], "by itself"),
        (["tune", "--local-model", ".", "--p95-ttft-budget", "soon"], "'soon' is no TTFT budget"),
        (["tune", "--local-model", ".", "--scan-limits", "0"], "not a list of positive whole numbers"),
    ],
)
def test_a_wrong_call_is_one_line(run: Keepwarm, arguments: list[str], says: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert says in one_line(result.stderr)


def test_an_out_that_is_a_file_is_refused_before_the_work(run: Keepwarm, server: PoolServer) -> None:
    Path("file").write_text("mine")
    result = run("run", *QUICK, "--out", "file")
    assert result.exit_code == 2
    assert "cannot make 'file'" in one_line(result.stderr)
    assert server.events == []


def test_every_way_to_start_a_server(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "compose.yaml").write_text("services: {}")
    url = "http://127.0.0.1:8000"
    local = adapter_for(ServerChoice(local_model=tmp_path), tmp_path)
    compose = adapter_for(
        ServerChoice(compose=tmp_path / "compose.yaml", service="vllm", base_url=url), tmp_path / "logs"
    )
    command = adapter_for(
        ServerChoice(start_command="systemctl start vllm", stop_command="x", base_url=url), tmp_path
    )
    assert isinstance(local, LocalServer)
    assert isinstance(compose, ComposeServer)
    assert isinstance(command, CommandServer)
    assert compose.base_url == command.base_url == url
