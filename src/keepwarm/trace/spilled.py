"""Byte strings by number, in Parquet parts of a run's folder; in memory is the part that is being filled.

A part is written whole when it is full and read back by row group; the groups used last are kept. Parts that
an interrupted run has left are taken up: what is appended again is there already.
"""

from __future__ import annotations

import bisect
import itertools
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from keepwarm._spill import RunFolder

_PART_BYTES = 4 << 20
_PART_VALUES = 1 << 15  # however small they are: a list of them takes memory too
_GROUP_BYTES = 256 << 10
_GROUPS_KEPT = 24


class _Group(NamedTuple):
    """A row group: value ``i`` of it is ``data[offsets[i]:offsets[i + 1]]``."""

    first: int
    offsets: npt.NDArray[np.int32]
    data: memoryview


class SpilledBytes:
    """A growing sequence of byte strings. The first ``found`` of them are from an earlier run."""

    def __init__(self, folder: RunFolder, name: str, watch: Callable[[], None] = lambda: None) -> None:
        self._folder = folder
        self._name = name
        self._watch = watch
        self._tail: list[bytes] = []
        self._tail_bytes = 0
        self._parts = 0
        self._group_firsts = array("q")  # number of the first value of each row group
        self._group_parts = array("l")
        self._written = 0  # values in parts
        self._count = 0
        self._kept: OrderedDict[int, _Group] = OrderedDict()
        for part in itertools.count():
            path = folder.get(f"{name}-{part}")
            if path is None:
                break
            self._note(_group_sizes(str(path)))
        self.found = self._written

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> bytes:
        if not 0 <= number < self._count:
            raise IndexError(number)
        if number >= self._written:
            return self._tail[number - self._written]
        group = self._group(bisect.bisect_right(self._group_firsts, number) - 1)
        place = number - group.first
        return bytes(group.data[group.offsets[place] : group.offsets[place + 1]])

    def append(self, value: bytes) -> None:
        """Keep ``value``; one that an earlier run has written is not looked at. Raises OSError."""
        self._count += 1
        if self._count <= self.found:
            return
        self._tail.append(value)
        self._tail_bytes += len(value)
        if self._tail_bytes >= _PART_BYTES or len(self._tail) >= _PART_VALUES:
            self._flush()

    def _flush(self) -> None:
        groups = list(_grouped(self._tail))
        self._folder.put(f"{self._name}-{self._parts}", lambda file: _write(groups, file))
        self._note(map(len, groups))
        self._tail = []
        self._tail_bytes = 0
        self._watch()

    def _note(self, sizes: Iterable[int]) -> None:
        """A part of groups of so many values follows."""
        for size in sizes:
            self._group_firsts.append(self._written)
            self._group_parts.append(self._parts)
            self._written += size
        self._parts += 1

    def _group(self, number: int) -> _Group:
        kept = self._kept.get(number)
        if kept is not None:
            self._kept.move_to_end(number)
            return kept
        part = self._group_parts[number]
        path = self._folder.path_of(f"{self._name}-{part}")
        place = number - bisect.bisect_left(self._group_parts, part)
        group = self._kept[number] = _read(str(path), place, self._group_firsts[number])
        if len(self._kept) > _GROUPS_KEPT:
            self._kept.popitem(last=False)
        return group


def _grouped(values: list[bytes]) -> Iterator[list[bytes]]:
    """``values`` cut into row groups."""
    group: list[bytes] = []
    size = 0
    for value in values:
        group.append(value)
        size += len(value)
        if size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _write(groups: Iterable[list[bytes]], file: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([pa.field("value", pa.binary(), nullable=False)])
    # What is worth compressing comes compressed.
    with pq.ParquetWriter(file, schema, compression="none", use_dictionary=False) as writer:
        for group in groups:
            table = pa.table([pa.array(group, pa.binary())], schema=schema)
            writer.write_table(table, row_group_size=max(1, len(group)))


def _group_sizes(path: str) -> list[int]:
    import pyarrow.parquet as pq

    told = pq.read_metadata(path)
    return [told.row_group(number).num_rows for number in range(told.num_row_groups)]


def _read(path: str, place: int, first: int) -> _Group:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        column = file.read_row_group(place, use_threads=False).column(0).combine_chunks()
    chunk = column if not hasattr(column, "chunks") else column.chunk(0)
    _, offsets, data = chunk.buffers()
    starts = np.frombuffer(offsets, dtype=np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
    return _Group(first, starts, memoryview(data) if data is not None else memoryview(b""))
