"""The process group, the log's end and the address: what the adapters share."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.canary.servers.health import checked_url
from keepwarm.canary.servers.logs import covered, last_lines, secrets_of, tail
from keepwarm.canary.servers.process import ProcessGroup

CHILD_LEFT_BEHIND = "import subprocess, sys; subprocess.Popen(['/bin/sleep', '600']); sys.exit(4)"


def _group(tmp_path: Path, program: str) -> ProcessGroup:
    return ProcessGroup([sys.executable, "-c", program], os.environ, tmp_path / "log")


def _wait_for_exit(group: ProcessGroup) -> int:
    while (code := group.exit_code()) is None:
        time.sleep(0.01)
    return code


@pytest.mark.parametrize(
    ("program", "code"), [("", 0), ("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9)]
)
def test_the_exit_code_stays_readable(tmp_path: Path, program: str, code: int) -> None:
    group = _group(tmp_path, program)
    assert _wait_for_exit(group) == code
    assert Path(f"/proc/{group.pid}").exists()  # not collected: its id cannot go to a stranger
    assert group.members() == []
    group.end(0)
    assert group.exit_code() == code


def test_what_a_command_left_behind_is_ended_with_it(tmp_path: Path) -> None:
    group = _group(tmp_path, CHILD_LEFT_BEHIND)
    assert _wait_for_exit(group) == 4
    assert len(group.members()) == 1
    group.end(30)
    assert group.members() == []
    group.end(30)


def test_other_groups_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one, other = _group(tmp_path, "input()"), _group(tmp_path / "other", "import time; time.sleep(600)")
    one.end(30)
    assert other.members() == [other.pid]
    other.end(30)
    assert other.exit_code() == -15


def test_input_is_empty_and_both_streams_go_to_the_log(tmp_path: Path) -> None:
    program = "import sys; print('err', file=sys.stderr, flush=True); print(repr(sys.stdin.read()))"
    group = _group(tmp_path, program)
    _wait_for_exit(group)
    group.end(0)
    assert (tmp_path / "log").read_text() == "err\n''\n"


def test_secrets_are_known_by_the_name_of_variable_or_option() -> None:
    environment = {"VLLM_API_KEY": "key-of-mine", "HF_TOKEN": "hf_0815", "HOME": "/home/me", "X_KEY": "short"}
    arguments = ("--api-key", "another-key", "--hf-token=hf_4711", "--model", "my-api-key-model", "--api-key")
    assert secrets_of(environment, arguments) == {"key-of-mine", "hf_0815", "another-key", "hf_4711"}
    assert secrets_of({}, ()) == frozenset()


@given(st.text(max_size=30), st.frozensets(st.text("ab1", min_size=6, max_size=12), max_size=4))
def test_no_secret_survives_covering(text: str, secrets: frozenset[str]) -> None:
    shown = covered(text + "".join(sorted(secrets)) + text, secrets)
    assert not [secret for secret in secrets if secret in shown]


def test_the_tail_is_the_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * 1_000_000 + b"\nfirst\n\xff second\nthird\n")
    assert tail(log, 2) == "\ufffd second\nthird"
    assert tail(log, 0) == ""
    assert tail(None, 5) == tail(tmp_path / "none", 5) == ""
    assert last_lines("a\nb", 9) == "a\nb"


@pytest.mark.parametrize(
    "url", ["http://host:8000", "http://host:8000/", "http://host:8000/v1", "http://host:8000/v1/"]
)
def test_an_address_may_end_in_v1(url: str) -> None:
    assert checked_url(url) == "http://host:8000"


@pytest.mark.parametrize(
    "url", ["", "host:8000", "ftp://host", "http://", "http://[::1", "http://host:no", "http://a\nb"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="is not the address of a server"):
        checked_url(url)
