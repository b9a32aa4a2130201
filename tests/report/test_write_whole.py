from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from keepwarm._errors import InputError
from keepwarm._files import write_whole


def test_a_pipe_stays_a_pipe_and_gets_the_content(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for name in ("pipe", "link"):
        write_whole(tmp_path / name, b"content")
        assert os.read(reader, 100) == b"content"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


def test_a_device_that_is_full_is_one_refusal(tmp_path: Path) -> None:
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(InputError, match="No space left on device"):
        write_whole(tmp_path / "full", b"content")
    assert (tmp_path / "full").is_symlink()
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


@pytest.mark.parametrize("name", ["/proc/self/fd/1", "stdout", "link", "fd/1"])
def test_standard_output_is_written_to_wherever_it_leads(tmp_path: Path, name: str) -> None:
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")  # as in /dev, where a failure would be everybody's
    (tmp_path / "link").symlink_to("stdout")
    (tmp_path / "fd").symlink_to("/proc/self/fd")
    write = "import sys, pathlib, keepwarm._files as f; print('before', flush=True)\n"
    write += "f.write_whole(pathlib.Path(sys.argv[1]), b'content\\n'); print('after')"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", write, name], stdout=out, cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "out").read_text() == "before\ncontent\nafter\n"
    assert (tmp_path / "stdout").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fd", "link", "out", "stdout"]


def test_links_that_lead_to_each_other_are_one_refusal(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(InputError, match="Too many levels of symbolic links"):
        write_whole(tmp_path / "one" / "file", b"content")
    write_whole(tmp_path / "one", b"content")  # a link is replaced, wherever it leads
    assert (tmp_path / "one").read_bytes() == b"content"


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_bytes(b"theirs")
    (tmp_path / "ours").symlink_to("theirs")
    write_whole(tmp_path / "ours", b"ours")
    assert (tmp_path / "theirs").read_bytes() == b"theirs"
    assert (tmp_path / "ours").read_bytes() == b"ours"
