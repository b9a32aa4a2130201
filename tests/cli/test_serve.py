"""``keepwarm serve`` as a command: what it prints, what it refuses, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

PATIENCE_S = 60
TOKEN = "a-token-of-the-tests"


@contextmanager
def served(folder: Path, *options: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The running command and the address that it printed."""
    command = [sys.executable, "-m", "keepwarm", "serve", str(folder), "--no-open", *options]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().rstrip("\n")
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE_S)


def refused(*arguments: str, **environment: str) -> str:
    """What the command says, in one line, when it cannot begin."""
    command = [sys.executable, "-m", "keepwarm", "serve", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_S, env={**os.environ, **environment}
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("keepwarm: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_ended(tmp_path: Path, ending: signal.Signals) -> None:
    with served(tmp_path) as (process, address):
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/\?token=([A-Za-z0-9_-]{40,})", address)
        assert found is not None
        with httpx2.Client(trust_env=False, timeout=PATIENCE_S) as browser:
            assert browser.get(f"{found[1]}/api/server").status_code == 401
            first = browser.get(address)
            assert (first.status_code, first.headers["location"]) == (303, "/")
            answer = browser.get(f"{found[1]}/api/server")
            assert (answer.status_code, answer.json()["name"]) == (200, tmp_path.name)
            assert "server" not in answer.headers
        process.send_signal(ending)
        assert process.communicate(timeout=PATIENCE_S) == ("", "")
        assert process.returncode == 0


def test_each_run_has_a_token_of_its_own(tmp_path: Path) -> None:
    with served(tmp_path) as (_, one), served(tmp_path) as (_, other):
        assert one.partition("token=")[2] != other.partition("token=")[2]


def test_the_token_of_the_environment(tmp_path: Path) -> None:
    with served(tmp_path, KEEPWARM_TOKEN=TOKEN) as (_, address):
        assert address.endswith(f"/?token={TOKEN}")


def test_other_machines_on_purpose(tmp_path: Path) -> None:
    options = ("--host", "0.0.0.0", "--allow-remote")
    with served(tmp_path, *options, KEEPWARM_TOKEN=TOKEN) as (process, address):
        assert address.startswith("http://localhost:")
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE_S)
        assert "lets other machines read the results" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--host", "0.0.0.0"), "add --allow-remote and set KEEPWARM_TOKEN"),
        (("--host", "0.0.0.0", "--allow-remote"), "set KEEPWARM_TOKEN"),
        (("--host", "::"), "--allow-remote"),
        (("--allow-host", "http://x"), "--allow-host 'http://x' is no host name"),
        (("--port", "70000"), "--port"),
    ],
)
def test_a_wrong_call_is_one_line(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    assert message in refused(str(tmp_path), *options, KEEPWARM_TOKEN="")


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    assert "is not there" in refused(str(tmp_path / "missing"))
    (tmp_path / "file").write_text("")
    assert "is no folder" in refused(str(tmp_path / "file"))


def test_a_short_token_is_refused(tmp_path: Path) -> None:
    message = refused(str(tmp_path), KEEPWARM_TOKEN="short")
    assert "KEEPWARM_TOKEN is unfit" in message
    assert "'short'" not in message


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on '127.0.0.1' port {port}" in refused(str(tmp_path), "--port", str(port))


def test_help_starts_no_server() -> None:
    program = (
        "import sys\nfrom keepwarm.cli import main\nsys.argv = ['keepwarm', 'serve', '--help']\n"
        "try:\n    main()\nfinally:\n"
        "    heavy = {'fastapi', 'uvicorn', 'numpy', 'msgspec'}\n"
        "    print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert "--allow-remote" in done.stdout
