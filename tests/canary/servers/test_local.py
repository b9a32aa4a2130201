from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keepwarm._errors import ServerError
from keepwarm.canary.servers.local import LocalOptions, LocalServer, cpu_options
from tests.canary.servers.conftest import is_running, printed

PARENT = """
import sys
from pathlib import Path
from keepwarm.canary.servers.local import LocalOptions, LocalServer
server = LocalServer(LocalOptions("some/model"), Path(sys.argv[1]))
server.start({})
sys.stdout.write("started\\n")
sys.stdout.flush()
sys.stdin.read()
"""


def _wait_until_gone(pid: int) -> None:
    limit = time.monotonic() + 30
    while is_running(pid):
        assert time.monotonic() < limit, f"{pid} is still there"
        time.sleep(0.02)


def test_arguments_are_vllms_and_the_address_comes_last(fake_vllm: Path, tmp_path: Path) -> None:
    options = LocalOptions("some/model", arguments=("--dtype", "float32", "--port", "1"), ready_within_s=60)
    with LocalServer(options, tmp_path / "logs") as server:
        server.start({})
        port = server.base_url.removeprefix("http://127.0.0.1:")
        assert printed(server).argv == [
            *("--model", "some/model", "--dtype", "float32", "--port", "1"),
            *("--host", "127.0.0.1", "--port", port),
        ]
        assert server.pid == printed(server).pid
        command = Path(f"/proc/{server.pid}/cmdline").read_text().split("\0")
        assert command[1:3] == ["-m", "vllm.entrypoints.openai.api_server"]
    assert server.pid is None


def test_options_environment_and_settings_override_in_this_order(
    fake_vllm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "from-the-shell")
    monkeypatch.setenv("COMPUTECACHE_MODE", "active")
    options = LocalOptions("some/model", environment={"COMPUTECACHE_RULE": "window", "VLLM_API_KEY": "none"})
    with LocalServer(options, tmp_path / "logs") as server:
        server.start({"COMPUTECACHE_SCAN_LIMIT": "5"})
        assert printed(server).settings == {"COMPUTECACHE_RULE": "window", "COMPUTECACHE_SCAN_LIMIT": "5"}
        assert "api key none" in server.log_tail()
        server.start({"COMPUTECACHE_RULE": "boundary"})
        assert printed(server).settings == {"COMPUTECACHE_RULE": "boundary"}


def test_every_start_keeps_its_own_log(local_server: LocalServer, tmp_path: Path) -> None:
    assert local_server.log_tail() == ""
    local_server.start({"COMPUTECACHE_MODE": "lru"})
    local_server.start({"COMPUTECACHE_MODE": "active"})
    logs = sorted((tmp_path / "logs").iterdir())
    assert [log.name for log in logs] == ["server-1.log", "server-2.log"]
    assert '"lru"' in logs[0].read_text()
    assert local_server.log_tail(2) == logs[1].read_text().rstrip("\n")


def test_a_server_that_died_is_noticed_before_the_time_is_up(
    local_server: LocalServer, behave: Callable[[str], Any], tmp_path: Path
) -> None:
    behave("dies")
    with pytest.raises(ServerError, match=r"'some/model' was not started: it ended with exit code 3; see '"):
        local_server.start({})  # it would wait for a minute
    assert not is_running(_printed_in(tmp_path).engine)


def test_a_server_that_never_answers_is_ended(
    fake_vllm: Path, tmp_path: Path, behave: Callable[[str], Any]
) -> None:
    behave("mute")
    server = LocalServer(LocalOptions("some/model", ready_within_s=1), tmp_path / "logs")
    with pytest.raises(ServerError, match=r"/health did not answer within 1 s"):
        server.start({})
    assert server.pid is None


def test_a_server_that_ignores_sigterm_is_killed_with_its_engine(
    fake_vllm: Path, tmp_path: Path, behave: Callable[[str], Any]
) -> None:
    behave("stubborn")
    server = LocalServer(LocalOptions("some/model", stop_within_s=0.2), tmp_path / "logs")
    server.start({})
    processes = printed(server)
    server.stop()
    assert not is_running(processes.pid)
    assert not is_running(processes.engine)


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_ends_with_the_process_that_started_it(
    fake_vllm: Path, tmp_path: Path, ending: signal.Signals
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "logs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"started\n"
        server = _printed_in(tmp_path)
        assert is_running(server.pid)
        parent.send_signal(ending)
    _wait_until_gone(server.pid)
    _wait_until_gone(server.engine)


def test_an_interpreter_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    server = LocalServer(LocalOptions("some/model", python="/no/python"), tmp_path / "logs")
    with pytest.raises(ServerError, match=r"cannot be started with '/no/python': .*No such file"):
        server.start({})


def test_a_setting_that_no_environment_can_hold_is_one_clear_error(local_server: LocalServer) -> None:
    with pytest.raises(ServerError, match="null byte"):
        local_server.start({"COMPUTECACHE_MODE": "l\0ru"})


def test_there_is_no_address_before_the_start(local_server: LocalServer) -> None:
    with pytest.raises(ServerError, match="start it first"):
        _ = local_server.base_url


def test_cpu_options_state_the_pool_and_reach_for_no_network() -> None:
    options = cpu_options("m", pool_blocks=64, arguments=("--seed", "1"), environment={"HF_HUB_OFFLINE": "0"})
    flags = options.arguments
    for name, value in {
        "--block-size": "16",
        "--num-gpu-blocks-override": "64",
        "--max-model-len": "1024",
        "--dtype": "float32",
        "--seed": "1",
    }.items():
        assert flags[flags.index(name) + 1] == value
    assert {"--enforce-eager", "--kv-cache-metrics", "--enable-prompt-tokens-details"} <= set(flags)
    assert options.environment["VLLM_NO_USAGE_STATS"] == "1"
    assert options.environment["VLLM_SERVER_DEV_MODE"] == "1"
    assert options.environment["HF_HUB_OFFLINE"] == "0"  # the caller's word counts
    assert cpu_options("m").environment["HF_HUB_OFFLINE"] == "1"


def _printed_in(tmp_path: Path) -> Any:
    """What the server of the first start printed, whoever started it."""
    log = LocalServer(LocalOptions("some/model"), tmp_path / "logs")
    log._log = tmp_path / "logs" / "server-1.log"
    return printed(log)
