"""What a crash leaves behind, and how the next recording goes on."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.replay.recorder.journal import Journal
from tests.replay.recorder.conftest import hello
from tests.replay.recorder.running import Recorder
from tests.replay.recorder.stub import PATIENCE_S, Call, Stub, chat_chunks

CHAT = "/v1/chat/completions"
LINE = b'{"id":"1","body":{"messages":[]}}\n'


def reopened(path: Path, content: bytes, *lines: bytes) -> tuple[bytes, str | None]:
    """What the file holds after a recording went on in it, and what it says of the repair."""
    path.write_bytes(content)
    journal = Journal.open(path, append=True)
    for line in lines:
        journal.write(line)
    journal.close()
    return path.read_bytes(), journal.repair


@given(st.integers(0, len(LINE) - 1))
def test_a_line_cut_anywhere_is_taken_out(tmp_path_factory: pytest.TempPathFactory, kept: int) -> None:
    path = tmp_path_factory.mktemp("cut") / "trace.jsonl"
    content, repair = reopened(path, LINE + LINE[:kept], LINE)
    if kept == len(LINE) - 1:  # only the line end is missing
        assert (content, repair) == (LINE * 3, "its last line had no end")
    else:
        assert content == LINE * 2
        assert repair == (
            f"its last line was cut off half-written ({kept} bytes) and is taken out" if kept else None
        )


def test_a_long_line_cut_off(tmp_path: Path) -> None:
    long = LINE[:-3] + b"x" * 3_000_000
    assert reopened(tmp_path / "t", LINE + long, LINE)[0] == LINE * 2
    assert reopened(tmp_path / "t", long, LINE)[0] == LINE


def test_what_others_wrote_is_not_cut(tmp_path: Path) -> None:
    theirs = b'{"request": {"messages": []}'
    assert reopened(tmp_path / "t", LINE + theirs, LINE)[0] == LINE + theirs + b"\n" + LINE


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08", b"[{}]", b"id,body\n", b"\n{}\n"])
def test_other_files_are_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(InputError, match="holds no lines of JSON"):
        Journal.open(path, append=True)
    assert path.read_bytes() == content


def test_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    first = Journal.open(path, append=False)
    with pytest.raises(InputError, match="written by another recording"):
        Journal.open(path, append=True)
    with pytest.raises(InputError, match="already there; add --append"):
        Journal.open(path, append=False)
    first.close()
    Journal.open(path, append=True).close()


def test_a_folder_and_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        Journal.open(tmp_path / "pipe", append=True)
    with pytest.raises(InputError, match="cannot write"):
        Journal.open(tmp_path, append=True)
    with pytest.raises(InputError, match="cannot write"):
        Journal.open(tmp_path / "no" / "folder", append=False)


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.jsonl"
    journal = Journal.open(path, append=False)
    journal.write(LINE)
    write, left = os.write, [10]

    def little(descriptor: int, data: memoryview) -> int:
        if not left:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[: left.pop()])

    monkeypatch.setattr(os, "write", little)
    journal.write(LINE)
    monkeypatch.undo()
    journal.write(LINE)
    journal.close()
    assert path.read_bytes() == LINE * 2
    assert (journal.lost_lines, journal.problem) == (1, "No space left on device")


def ask(recorder: Recorder, number: int) -> None:
    httpx2.post(f"{recorder.url}{CHAT}", json=hello(seed=number), trust_env=False, timeout=PATIENCE_S)


def test_killed_with_requests_under_way(
    start: Callable[..., Recorder], upstream: Stub, tmp_path: Path
) -> None:
    """Every answer that a client has in full is in the file; the next recording goes on after it."""
    under_way = threading.Barrier(5, timeout=PATIENCE_S)
    killed = threading.Event()

    def answer(call: Call) -> None:
        if json.loads(call.asked.body)["seed"] < 20:
            call.stream(*chat_chunks("all"))
        else:
            call.start_stream()
            call.event(chat_chunks("some")[1])
            under_way.wait()
            killed.wait(PATIENCE_S)

    upstream.script = answer
    first = start(upstream.url)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: ask(first, number), range(20)))
        cut_off = [pool.submit(ask, first, number) for number in range(20, 24)]
        under_way.wait()
        first.kill()
        killed.set()
        assert all(isinstance(request.exception(), httpx2.TransportError) for request in cut_off)
    assert sorted(line["body"]["seed"] for line in first.lines()) == list(range(20))
    assert all(line.endswith(b"\n") for line in first.raw_lines())

    with first.out.open("ab") as file:  # as if it had been killed a moment later
        file.write(first.raw_lines()[-1][:-50])
    second = start(upstream.url, "--append")
    assert "half-written" in second.said
    ask(second, 1)
    second.stop()
    assert [line["body"]["seed"] for line in second.lines()][20:] == [1]
    assert len(second.raw_lines()) == 21
