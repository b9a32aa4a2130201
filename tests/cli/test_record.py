"""``keepwarm record`` as a command: what it refuses, and how it ends."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from keepwarm.replay.recorder.options import GRACE_S, MAX_BODY_BYTES, MAX_RESPONSE_BYTES
from tests.replay.recorder.running import Recorder
from tests.replay.recorder.stub import PATIENCE_S, Call, Stub, chat_answer, chat_chunks

CHAT = "/v1/chat/completions"
BODY = {"model": "m", "messages": [{"role": "user", "content": "Hello?"}], "stream": True}


def refused(*options: str) -> str:
    """What the command says, in one line, when it cannot begin."""
    command = [sys.executable, "-m", "keepwarm", "record", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("keepwarm: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--upstream", "ftp://x"), "'ftp://x' is not an http or https URL"),
        (("--upstream", "127.0.0.1:8000"), "is not an http or https URL"),
        (("--upstream", ""), "is not an http or https URL"),
        (("--upstream", "http://[::"), "is not an http or https URL"),
        (("--upstream", "http://user:hunter2-hunter2@x/v1"), "has credentials or a query in it"),
        (("--upstream", "http://user:hunter2-hunter2@[::"), "has credentials or a query in it"),
        (("--upstream", "http://x/v1?key=hunter2-hunter2"), "has credentials or a query in it"),
        (("--upstream", "http://x", "--session-header", "Authorization"), "are never stored"),
        (("--upstream", "http://x", "--session-header", "no header"), "is not the name of a header"),
        (("--upstream", "http://x", "--host", "no.such.host.invalid"), "cannot listen on"),
        (("--upstream", "http://x", "--port", "70000"), "--port"),
        (
            ("--upstream", "http://x", "--hints-to", "http://127.0.0.1:1"),
            "'KEEPWARM_CONTROL_TOKEN' is not set",
        ),
        (
            ("--upstream", "http://x", "--hints-to", "http://10.0.0.1", "--hints-token-env", "PATH"),
            "this machine",
        ),
    ],
)
def test_a_wrong_call_leaves_nothing_behind(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    out = tmp_path / "trace.jsonl"
    said = refused("--out", str(out), *options)
    assert message in said
    assert "hunter2" not in said
    assert not out.exists()


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        out = tmp_path / "trace.jsonl"
        said = refused("--upstream", "http://x", "--out", str(out), "--port", port)
    assert f"port {port}: Address already in use" in said
    assert not out.exists()


def test_a_file_that_is_there(tmp_path: Path) -> None:
    out = tmp_path / "trace.jsonl"
    out.write_bytes(b"")
    assert "add --append" in refused("--upstream", "http://x", "--out", str(out), "--port", "0")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_requests_under_way_get_to_finish(tmp_path: Path, number: signal.Signals) -> None:
    under_way, ending = threading.Event(), threading.Event()

    def stream(call: Call) -> None:
        call.start_stream()
        for chunk in chat_chunks("be", "fore"):
            call.event(chunk)
        under_way.set()
        assert ending.wait(PATIENCE_S)
        call.piece(b"data: [DONE]\n\n")
        call.end()

    with (
        Stub() as stub,
        Recorder(stub.url, tmp_path / "trace.jsonl") as recorder,
        ThreadPoolExecutor(1) as pool,
    ):
        stub.script = stream
        answer = pool.submit(
            httpx2.post, f"{recorder.url}{CHAT}", json=BODY, trust_env=False, timeout=PATIENCE_S
        )
        assert under_way.wait(PATIENCE_S)
        recorder.process.send_signal(number)
        while not _is_refused(recorder.port):  # it stops listening first
            time.sleep(0.01)
        ending.set()
        assert answer.result().content.endswith(b"[DONE]\n\n")
        summary = recorder.stop()
    assert summary == f"1 request recorded, 0 of them failed, in {str(recorder.out)!r}\n"
    assert recorder.lines()[0]["response"] == chat_answer("before")


def _is_refused(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionResetError:
        return False  # accepted by the system as the listener closed: the next one is refused
    except ConnectionRefusedError:
        return True
    return False


def test_requests_that_do_not_finish_are_written_all_the_same(tmp_path: Path) -> None:
    under_way = threading.Event()

    def hang(call: Call) -> None:
        call.start_stream()
        call.event(chat_chunks("some")[1])
        under_way.set()
        call.wait_until_hung_up()

    with (
        Stub() as stub,
        Recorder(stub.url, tmp_path / "trace.jsonl") as recorder,
        ThreadPoolExecutor(1) as pool,
    ):
        stub.script = hang
        answer = pool.submit(
            httpx2.post, f"{recorder.url}{CHAT}", json=BODY, trust_env=False, timeout=PATIENCE_S
        )
        assert under_way.wait(PATIENCE_S)
        summary = recorder.stop(signal.SIGTERM)
        assert isinstance(answer.exception(), httpx2.TransportError)
    assert summary.startswith("1 request recorded, 1 of them failed")
    line = recorder.lines()[0]
    assert line["error"] == {"kind": "shutdown", "message": "the recording ended before the response did"}
    assert line["response"]["choices"][0]["message"]["content"] == "some"


def test_other_machines_are_announced(tmp_path: Path) -> None:
    with Recorder("http://127.0.0.1:9", tmp_path / "trace.jsonl", "--host", "0.0.0.0") as recorder:
        assert "--host '0.0.0.0' lets other machines use the upstream through this one" in recorder.said
        url = f"http://127.0.0.1:{recorder.port}/health"
        answer = httpx2.get(url, headers={"Host": "recorder.example"}, trust_env=False)
        assert answer.status_code == 502
        assert recorder.stop().startswith("0 requests recorded")


def test_the_guide_shows_commands_that_run(repository: Path, tmp_path: Path) -> None:
    page = (repository / "docs" / "how-to" / "record.md").read_text()
    commands = re.findall(r"^keepwarm record --upstream (\S+) --out (\S+)(.*)$", page, re.MULTILINE)
    assert commands
    for upstream, out, options in commands:
        with Recorder(upstream, tmp_path / out, *options.split()) as recorder:
            assert f"recording {upstream} into" in recorder.said
            recorder.stop()


def test_the_guide_names_every_kind_of_error_and_every_limit(repository: Path) -> None:
    page = (repository / "docs" / "how-to" / "record.md").read_text()
    sources = "".join(path.read_text() for path in (repository / "src/keepwarm/replay/recorder").glob("*.py"))
    kinds = set(re.findall(r'(?:fail\(|40\d, |502, )"([a-z-]+)"', sources))
    table = page.partition("| `error.kind` |")[2].partition("\n\n")[0]
    assert kinds == set(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE))
    for limit in (f"{MAX_BODY_BYTES >> 20} MiB", f"{MAX_RESPONSE_BYTES >> 20} MiB", f"{GRACE_S} seconds"):
        assert limit in page
