"""What fits runs, what does not is refused with a figure that does, and the peak stays below it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from keepwarm._errors import BudgetError
from keepwarm._resources import Resources, memory_bytes
from keepwarm._spill import run_folder
from keepwarm.cache.bounded import SPARE_BYTES, Bounded, StoppedError, resident_bytes, stopping
from keepwarm.cache.kernels import kernel_policies, replay_bytes
from keepwarm.cache.kernels.extent import Extent
from keepwarm.cache.kernels.footprint import _made_bytes
from keepwarm.cache.places import InFiles
from tests.cache.traces import hashed, write_lines

ROOM = 1 << 30
PEAK_CHILD = Path(__file__).with_name("peak_child.py")


@pytest.fixture
def bounded(tmp_path: Path) -> Iterator[Bounded]:
    """A gibibyte is left for replays."""
    with run_folder(Resources(spill=tmp_path), "key") as folder:
        held = resident_bytes()
        made = Bounded(held + SPARE_BYTES + ROOM + (64 << 20), folder)
        made.settle(np.empty(0, dtype=np.int32))
        yield made


@pytest.mark.parametrize("policy", kernel_policies())
@pytest.mark.parametrize(
    "extent",
    [Extent(100_000, 5_000, 70_000, 30_000, 500_000, 600_000), Extent(7, 3, 9, 2, 11, 12)],
    ids=["large", "small"],
)
def test_sizes_read_off_small_arrays_are_those_of_large_ones(policy: str, extent: Extent) -> None:
    arrays = (
        replay_bytes(policy, extent) - replay_bytes(policy, Extent(0, 0, 0, 0, 0, 0)) - 96 * extent.requests
    )
    made = _made_bytes(policy, extent) - _made_bytes(policy, Extent(0, 0, 0, 0, 0, 0))
    assert made <= arrays + 64
    assert arrays <= 1.01 * made + 64


def test_what_never_fits_is_refused_with_what_would_do(bounded: Bounded) -> None:
    bounded.check("lru at 5 blocks", ROOM)
    with pytest.raises(
        BudgetError, match=r"^lru at 5 blocks does not fit .*GiB of memory; give --memory "
    ) as told:
        bounded.check("lru at 5 blocks", 9 * ROOM)
    assert "--sample" in str(told.value)
    enough = re.search(r"--memory (\S+),", str(told.value))
    assert enough is not None
    assert memory_bytes(enough[1]) >= resident_bytes() + 9 * ROOM


def test_reading_that_outgrows_the_budget_is_refused(tmp_path: Path) -> None:
    with run_folder(Resources(spill=tmp_path), "key") as folder:
        tight = Bounded(resident_bytes() // 2, folder)
        with pytest.raises(BudgetError, match="reading the trace does not fit"):
            tight.watch(0.25)
        Bounded(2 * resident_bytes(), folder).watch(0.25)


def test_two_that_do_not_fit_together_take_turns(bounded: Bounded) -> None:
    begun, inside = threading.Event(), threading.Event()

    def second() -> None:
        begun.set()
        with bounded.room("second", ROOM * 3 // 4):
            inside.set()

    with bounded.room("first", ROOM * 3 // 4):
        thread = threading.Thread(target=second)
        thread.start()
        assert begun.wait(60)
        with bounded.room("small", ROOM // 8):
            assert not inside.wait(0.2)
    assert inside.wait(60)
    thread.join()


def test_what_waits_ends_when_another_fails(bounded: Bounded) -> None:
    ended: list[BaseException] = []

    def second() -> None:
        try:
            with bounded.room("second", ROOM * 3 // 4):
                raise AssertionError("it had no room")
        except StoppedError as error:
            ended.append(error)

    with bounded.room("first", ROOM * 3 // 4):
        thread = threading.Thread(target=second)
        thread.start()
        with pytest.raises(KeyboardInterrupt), stopping(bounded):
            raise KeyboardInterrupt
        thread.join(60)
    assert len(ended) == 1
    with pytest.raises(StoppedError):
        bounded.between(np.empty(0, dtype=np.int32))


def test_answers_are_kept_by_all_that_decides_them(bounded: Bounded) -> None:
    assert bounded.once(("lru", 5), lambda: 7, int) == 7
    assert bounded.once(("lru", 5), lambda: 8, int) == 7
    assert bounded.once(("lru", 6), lambda: 8, int) == 8


def test_a_kept_file_that_is_no_answer_is_computed_again(bounded: Bounded) -> None:
    assert bounded.once(("lru", 5), lambda: 7, int) == 7
    (name,) = (file.name.rpartition(".")[0] for file in bounded.folder.path.glob("answer-*"))
    for content in (b"", b"{", b'"seven"', b"null", b"7.5", b"\xff"):
        bounded.folder.drop(name)
        bounded.folder.put(name, partial(_write, content))
        assert bounded.once(("lru", 5), lambda: 8, int) == 8
        assert bounded.once(("lru", 5), lambda: 9, int) == 8


def _write(content: bytes, file: BinaryIO) -> None:
    file.write(content)


def test_room_for_ids_is_taken_before_they_are_written(
    bounded: Bounded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a mapped hole a full disk tells with SIGBUS."""
    with bounded.folder.scratch() as kept:
        monkeypatch.setattr(bounded.folder, "scratch", lambda: os.fdopen(os.dup(kept.fileno()), "r+b"))
        assert len(InFiles(bounded.folder).blank(100_000)) == 100_000
        assert os.fstat(kept.fileno()).st_blocks * 512 >= 400_000


def simulate(trace: Path, folder: Path, memory: str) -> tuple[int, str, int]:
    """Exit code, standard error and peak bytes."""
    told = trace.with_name("peak")
    options = ("--policy", "belady", "--capacity-blocks", "20000000", "--no-store", "--json")
    command = [sys.executable, str(PEAK_CHILD), str(told), "simulate", "cache", str(trace), *options]
    child = subprocess.run(
        [*command, "--memory", memory, "--spill", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        text=True,
    )
    return child.returncode, child.stderr, int(told.read_text())


def test_the_peak_stays_below_what_was_said_to_do(tmp_path: Path) -> None:
    """Answers of unknown content fill twenty million blocks, so a replay takes more than 512 MiB."""
    trace = write_lines(tmp_path / "t.jsonl", [hashed([n, n + 1], output=4 * 100_000) for n in range(200)])
    code, said, peak_bytes = simulate(trace, tmp_path / "spill", "512MiB")
    assert code == 2
    assert said.count("\n") == 1
    assert peak_bytes < memory_bytes("512MiB")
    found = re.search(r"belady at 20000000 blocks does not fit 0.5GiB of memory; give --memory (\S+),", said)
    assert found is not None, said
    code, said, peak_bytes = simulate(trace, tmp_path / "spill", found[1])
    assert code == 0, said
    assert "goes on from" in said
    assert memory_bytes("512MiB") < peak_bytes < memory_bytes(found[1])
    assert not list((tmp_path / "spill").iterdir())
