from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from keepwarm._errors import InputError, ServerError
from keepwarm.canary.servers.command import CommandOptions, CommandServer
from keepwarm.canary.servers.health import is_healthy
from tests.canary.servers.conftest import FAKE_SERVER, is_running, printed

NOTHING = (sys.executable, "-c", "")


def _server(port: int, logs: Path, start: tuple[str, ...], stop: tuple[str, ...] = NOTHING) -> CommandServer:
    url = f"http://127.0.0.1:{port}"
    return CommandServer(CommandOptions(url, start, stop, ready_within_s=30, stop_within_s=2), logs)


def _in_background(port: int) -> tuple[str, ...]:
    """A start command that ends when it has started the server."""
    return ("/bin/sh", "-c", f'"{sys.executable}" "{FAKE_SERVER}" --port {port} & exit 0')


def test_a_start_command_may_end_before_the_server_answers(port: int, tmp_path: Path) -> None:
    with _server(port, tmp_path, _in_background(port)) as server:
        server.start({"COMPUTECACHE_MODE": "lru"})
        assert is_healthy(server.base_url)
        processes = printed(server)
        assert processes.settings == {"COMPUTECACHE_MODE": "lru"}
    assert not is_running(processes.pid)  # though the stop command did nothing
    assert not is_running(processes.engine)


def test_a_server_of_before_is_stopped_by_the_stop_command(port: int, tmp_path: Path) -> None:
    with _server(port, tmp_path / "before", _in_background(port)) as before:
        before.start({"COMPUTECACHE_MODE": "active"})
        old = printed(before)
        stop = (sys.executable, "-c", f"import os; os.kill({old.pid}, {int(signal.SIGTERM)})")
        with _server(port, tmp_path / "after", _in_background(port), stop) as after:
            after.start({"COMPUTECACHE_MODE": "lru"})
            assert not is_running(old.pid)
            assert printed(after).pid != old.pid


def test_a_stop_command_that_does_not_stop_is_refused(port: int, tmp_path: Path) -> None:
    with _server(port, tmp_path / "before", _in_background(port)) as before:
        before.start({})
        after = _server(port, tmp_path / "after", _in_background(port))
        with pytest.raises(ServerError, match="still answers after the stop command"):
            after.start({"COMPUTECACHE_MODE": "lru"})
        assert is_running(printed(before).pid)


def test_both_commands_get_the_settings(port: int, tmp_path: Path) -> None:
    show = "import os, sys; sys.stdout.write(os.environ['COMPUTECACHE_MODE'])"
    with _server(port, tmp_path, _in_background(port), (sys.executable, "-c", show)) as server:
        server.start({"COMPUTECACHE_MODE": "active"})
    assert (tmp_path / "stop-2.log").read_text() == "active"


def test_a_start_command_that_fails_is_an_error_at_once(port: int, tmp_path: Path) -> None:
    fail = (sys.executable, "-c", "import sys; sys.exit('the queue is full')")
    with (
        _server(port, tmp_path, fail) as server,
        pytest.raises(
            ServerError, match=r"the start command ended with exit code 1; see '.*\nthe queue is full"
        ),
    ):
        server.start({})


def test_a_program_that_is_not_there_is_one_clear_error(port: int, tmp_path: Path) -> None:
    server = _server(port, tmp_path, ("/no/program", "--token", "a-token-of-mine"))
    with pytest.raises(ServerError, match="the start command '/no/program' cannot be run") as caught:
        server.start({})
    assert "a-token-of-mine" not in str(caught.value)


def test_commands_go_through_no_shell(port: int, tmp_path: Path) -> None:
    echo = ("/bin/echo", "$HOME; exit 3", "|", "cat")
    options = CommandOptions(f"http://127.0.0.1:{port}", echo, NOTHING, ready_within_s=0.5, stop_within_s=0)
    server = CommandServer(options, tmp_path)
    with pytest.raises(ServerError, match="did not answer"):
        server.start({})
    assert (tmp_path / "start-1.log").read_text() == f"$HOME; exit 3 | cat{os.linesep}"


@pytest.mark.parametrize(("start", "stop"), [((), NOTHING), (NOTHING, ())])
def test_both_commands_are_needed(start: tuple[str, ...], stop: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name both"):
        CommandServer(CommandOptions("http://127.0.0.1:1", start, stop), tmp_path)
