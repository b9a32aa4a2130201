"""Parquet that unpacks to far more than it is: refused in one line, before the memory is gone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keepwarm._errors import InputError
from keepwarm._parquet import read_bounded

MIB = 1 << 20


def test_it_reads_what_pyarrow_reads(tmp_path: Path) -> None:
    lists = pa.array([[n, n + 1] for n in range(10_000)], type=pa.list_(pa.int32()))
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False), pa.field("lists", lists.type)], {"k": "v"})
    for rows in (10_000, 0):
        path = tmp_path / f"{rows}.parquet"
        pq.write_table(pa.table([pa.array(range(rows)), lists[:rows]], schema=schema), path)
        read = read_bounded(path, "it")
        assert read.equals(pq.read_table(path), check_metadata=True)
        assert read.equals(read_bounded(pa.BufferReader(path.read_bytes()), "it"), check_metadata=True)


@pytest.mark.parametrize(
    "column",
    [
        pa.nulls(3 * MIB, pa.int8()),
        pa.ListArray.from_arrays(pa.array([0, 3 * MIB], pa.int32()), pa.nulls(3 * MIB, pa.int8())),
        pa.array(["x" * 2_000] * 4_000),
    ],
    ids=["rows", "one long list", "one long text many times"],
)
def test_a_small_file_that_is_huge(tmp_path: Path, column: pa.Array) -> None:
    path = tmp_path / "it.parquet"
    pq.write_table(pa.table([column], names=["it"]), path, compression="zstd")
    assert path.stat().st_size < MIB // 8
    with pytest.raises(InputError, match="'it' unpacks to more than 2 MiB"):
        read_bounded(path, "'it'", 2 * MIB)
