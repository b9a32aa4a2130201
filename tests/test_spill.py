"""A run's own folder: what is whole and ours comes back, whatever else lies there."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO

import pytest

from keepwarm._errors import BudgetError, InputError, Interrupted
from keepwarm._resources import Resources
from keepwarm._spill import RunFolder, run_folder


@pytest.fixture
def resources(tmp_path: Path) -> Resources:
    return Resources(spill=tmp_path / "spill")


def run_and_stop(
    resources: Resources, error: BaseException, write: Callable[[RunFolder], object], key: str = "key"
) -> None:
    with run_folder(resources, key) as run:
        write(run)
        raise error


def interrupted_after(resources: Resources, **files: bytes) -> Path:
    def write(run: RunFolder) -> None:
        for name, content in files.items():
            run.put(name, partial(_write, content))

    with pytest.raises(Interrupted, match="the same command goes on from"):
        run_and_stop(resources, KeyboardInterrupt(), write)
    assert resources.spill is not None
    return resources.spill / "key"


def _write(content: bytes, file: BinaryIO) -> None:
    file.write(content)


ONE = partial(RunFolder.put, name="a", write=partial(_write, b"1"))


def test_it_is_private_and_gone_when_the_run_is_done(resources: Resources) -> None:
    with run_folder(resources, "key") as run:
        path = run.put("a", lambda file: file.write(b"1"))
        assert run.path.stat().st_mode & 0o077 == path.stat().st_mode & 0o077 == 0
        assert run.get("a") == path
    assert not run.path.exists()


def test_an_interrupted_run_leaves_what_was_whole(resources: Resources) -> None:
    interrupted_after(resources, a=b"1", b=b"2")
    with run_folder(resources, "key") as run:
        found = run.get("a")
        assert found is not None
        assert found.read_bytes() == b"1"
        assert run.found == 2
        run.drop("b")
        assert run.get("b") is None


def test_other_runs_see_nothing_of_it(resources: Resources) -> None:
    interrupted_after(resources, a=b"1")
    with run_folder(resources, "other") as run:
        assert run.found == 0


def test_what_was_changed_is_not_taken(resources: Resources) -> None:
    folder = interrupted_after(resources, a=b"whole", b=b"2")
    (file,) = folder.glob("a.*")
    file.write_bytes(b"who")
    with run_folder(resources, "key") as run:
        assert run.get("a") is None
        assert not file.exists()
        assert run.get("b") is not None


def test_what_another_run_wrote_is_not_taken(resources: Resources) -> None:
    folder = interrupted_after(resources, a=b"1")
    (file,) = folder.glob("a.*")
    with pytest.raises(Interrupted):
        run_and_stop(
            resources, KeyboardInterrupt(), lambda run: (run.path / file.name).write_bytes(b"1"), "other"
        )
    with run_folder(resources, "other") as run:
        assert run.get("a") is None


def test_strange_things_in_it_are_cleared_away(resources: Resources) -> None:
    folder = interrupted_after(resources, a=b"1")
    (folder / "writing-abc").write_bytes(b"half")
    (folder / "folder").mkdir()
    (folder / f"b.{'0' * 40}").mkdir()
    (folder / f"c.{'0' * 40}").symlink_to("/etc/passwd")
    with run_folder(resources, "key") as run:
        assert run.get("a") is not None
        assert run.get("b") is None
        assert run.get("c") is None
        assert sorted(path.name[:2] for path in run.path.iterdir()) == ["a.", "lo"]


def test_a_write_that_fails_leaves_nothing(resources: Resources) -> None:
    def fail(file: BinaryIO) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    def write(run: RunFolder) -> None:
        ONE(run)
        run.put("b", fail)

    with pytest.raises(InputError, match="No space left on device; make room or name another folder"):
        run_and_stop(resources, AssertionError(), write)
    with run_folder(resources, "key") as run:
        assert run.found == 1


def test_a_refused_budget_keeps_what_was_read(resources: Resources) -> None:
    with pytest.raises(BudgetError):
        run_and_stop(resources, BudgetError("give more"), ONE)
    with run_folder(resources, "key") as run:
        assert run.found == 1


def test_wrong_input_leaves_nothing(resources: Resources) -> None:
    with pytest.raises(InputError):
        run_and_stop(resources, InputError("wrong"), ONE)
    assert resources.spill is not None
    assert not list(resources.spill.iterdir())


def test_an_answer_that_could_not_be_shown_is_kept(resources: Resources) -> None:
    def write(run: RunFolder) -> None:
        ONE(run)
        run.has_answer = True

    with pytest.raises(InputError):
        run_and_stop(resources, InputError("no room for the report"), write)
    with run_folder(resources, "key") as run:
        assert run.found == 1


def test_two_runs_never_share_it(resources: Resources) -> None:
    with (
        run_folder(resources, "key") as run,
        pytest.raises(InputError, match="another run of the same command has the folder"),
        run_folder(resources, "key"),
    ):
        pass
    assert not run.path.exists()


def test_a_folder_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with (
        pytest.raises(InputError, match="name a folder with --spill"),
        run_folder(Resources(spill=tmp_path / "file"), "key"),
    ):
        pass
    assert (tmp_path / "file").read_text() == "mine"


LEFT = "0a" * 20


@pytest.fixture
def left(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What an interrupted run has left; it is eight days later now."""
    with pytest.raises(Interrupted):
        run_and_stop(resources, KeyboardInterrupt(), ONE, LEFT)
    assert resources.spill is not None
    (resources.spill / LEFT / "writing-abc").write_bytes(b"half")
    now_s = time.time() + 8 * 86_400
    monkeypatch.setattr("keepwarm._abandoned.time.time", lambda: now_s)
    return resources.spill / LEFT


def test_what_nobody_has_used_for_days_goes(resources: Resources, left: Path) -> None:
    with run_folder(resources, "key") as run:
        assert not left.exists()
        assert run.path.exists()


def test_what_was_used_within_days_stays(
    resources: Resources, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    with run_folder(resources, "key"):
        assert left.exists()


def test_a_run_never_takes_its_own_folder_for_abandoned(resources: Resources, left: Path) -> None:
    with run_folder(resources, left.name) as run:
        assert run.found == 1


def _foreign_file(path: Path) -> Path:
    (path / "notes.txt").write_text("mine")
    return path


def _foreign_folder(path: Path) -> Path:
    (path / f"b.{LEFT}").mkdir()
    return path


def _no_lock(path: Path) -> Path:
    (path / "lock").unlink()
    return path


def _lock_that_is_a_link(path: Path) -> Path:
    (path / "lock").rename(path.parent / "lock")
    (path / "lock").symlink_to(path.parent / "lock")
    return path


def _other_name(path: Path) -> Path:
    return path.rename(path.parent / "precious")


def _link(path: Path) -> Path:
    elsewhere = path.rename(path.parent / "elsewhere")
    path.symlink_to(elsewhere)
    return elsewhere


@pytest.mark.parametrize(
    "change", [_foreign_file, _foreign_folder, _no_lock, _lock_that_is_a_link, _other_name, _link]
)
def test_what_is_not_surely_ours_stays(
    resources: Resources, left: Path, change: Callable[[Path], Path]
) -> None:
    kept = change(left)
    before = sorted(kept.iterdir())
    with run_folder(resources, "key"):
        pass
    assert sorted(kept.iterdir()) == before


def test_what_another_run_has_locked_stays(resources: Resources, left: Path) -> None:
    lock = os.open(left / "lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with run_folder(resources, "key"):
            assert left.exists()
    finally:
        os.close(lock)
    with run_folder(resources, "key"):
        assert not left.exists()


def test_so_many_are_removed_at_a_time(
    resources: Resources, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepwarm._abandoned._MOST_REMOVED", 2)
    for number in range(4):
        shutil.copytree(left, left.parent / f"{number:040}")
    with run_folder(resources, "key") as run:
        assert len(list(run.path.parent.iterdir())) == 4


def test_a_link_in_place_of_it_is_refused(resources: Resources, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("mine")
    assert resources.spill is not None
    resources.spill.mkdir()
    (resources.spill / "key").symlink_to(elsewhere)
    with pytest.raises(InputError, match="is not yours"), run_folder(resources, "key"):
        pass
    assert (elsewhere / "precious").read_text() == "mine"
