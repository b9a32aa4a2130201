from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.sweep import results
from keepwarm.sweep.cells import Group
from keepwarm.sweep.results import ROWS, opened
from keepwarm.sweep.run import sweep
from tests.sweep.specs import CACHE, Made, groups_of


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> tuple[Group, ...]:
    return groups_of(tmp_path_factory.mktemp("spec"))


@pytest.fixture(scope="module")
def expected(groups: tuple[Group, ...], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return sweep(groups, Made(), tmp_path_factory.mktemp("whole")).rows_path.read_bytes()


@settings(max_examples=40)
@given(stops=st.lists(st.integers(0, 20), max_size=6), seed=st.integers(0, 99), batch=st.integers(1, 9))
def test_however_often_it_is_interrupted_each_cell_is_computed_once_and_the_rows_are_the_same(
    groups: tuple[Group, ...], expected: bytes, stops: list[int], seed: int, batch: int
) -> None:
    order = random.Random(seed)
    asked: list[str] = []
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "BATCH_CELLS", batch)
        folder = Path(name)
        for stop_after in stops:
            engine = Made(order, stop_after=stop_after)
            try:
                sweep(groups, engine, folder)
            except KeyboardInterrupt:
                assert not (folder / results.ROWS).exists()
            asked += engine.asked
        last = Made(order)
        done = sweep(groups, last, folder)
        asked += last.asked
        assert done.rows_path.read_bytes() == expected
        assert done.computed == len(last.asked)
    assert sorted(asked) == sorted(cell.key for group in groups for cell in group.cells)


def test_a_changed_spec_keeps_what_is_still_wanted(tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep(groups_of(tmp_path, CACHE), Made(), out)
    wider = CACHE.replace("[40, 60, 80, 120]", "[60, 120, 240]").replace('"lru", ', "")
    done = sweep(groups_of(tmp_path, wider), Made(), out)
    assert (done.cells, done.kept, done.computed) == (6, 4, 2)
    assert pq.read_table(done.rows_path)["capacity_blocks"].unique().sort().to_pylist() == [60, 120, 240]
    assert sweep(groups_of(tmp_path, CACHE), Made(), out).computed == 0


def test_rows_are_sorted_by_key_and_name_no_time_and_no_host(
    groups: tuple[Group, ...], tmp_path: Path
) -> None:
    table = pq.read_table(sweep(groups, Made(random.Random(3)), tmp_path).rows_path)
    found = table["key"].to_pylist()
    assert found == sorted(cell.key for group in groups for cell in group.cells)
    assert not [name for name in table.column_names if "host" in name or name in ("time", "wall_s")]


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_part_is_computed_again(groups: tuple[Group, ...], tmp_path: Path, damage: str) -> None:
    expected = sweep(groups, Made(), tmp_path).rows_path.read_bytes()
    (part,) = (tmp_path / "parts").iterdir()
    content = bytearray(part.read_bytes())
    content[40] ^= 0xFF
    part.write_bytes({"cut": bytes(content[:-20]), "flipped": bytes(content), "empty": b""}[damage])
    done = sweep(groups, Made(), tmp_path)
    assert (done.kept, done.damaged_parts) == (0, 1)
    assert done.rows_path.read_bytes() == expected
    assert sweep(groups, Made(), tmp_path).damaged_parts == 0


def test_what_a_killed_writer_left_is_cleared_away(groups: tuple[Group, ...], tmp_path: Path) -> None:
    sweep(groups, Made(), tmp_path)
    (tmp_path / "parts" / ".abc.parquet.x7").write_bytes(b"half")
    sweep(groups, Made(), tmp_path)
    assert len(list((tmp_path / "parts").iterdir())) == 1


_HOLDER = """
import pathlib, sys, time
from keepwarm.sweep.results import opened

with opened(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def enter(folder: Path) -> None:
    with opened(folder):
        pass


@pytest.mark.parametrize("content", [b"", b"theirs", None])
def test_rows_that_no_sweep_wrote_are_not_replaced(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / ROWS
    if content is None:
        pq.write_table(pa.table({"theirs": [1]}), path)
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(InputError, match="is not of a sweep, and would be replaced"):
        enter(tmp_path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [ROWS]


def test_two_sweeps_of_one_folder_do_not_meet_and_a_dead_one_does_not_block(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        try:
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(InputError, match=f"another sweep .process {holder.pid}. is writing to"):
                enter(tmp_path)
        finally:
            holder.kill()
    enter(tmp_path)


def test_a_folder_that_cannot_be_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot keep results in .*file/out'.*name another"):
        enter(tmp_path / "file" / "out")
