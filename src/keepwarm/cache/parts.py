"""A trace read in parts of bounded size: what is kept of its requests, and their block hashes.

A part numbers its own blocks, so that hot ones are kept once; ``numbering`` brings the numbers of all parts
together. Parts lie in memory or, where that is bounded, in the folder of the run, each written whole:
an interrupted run encodes only the requests that no part covers.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from keepwarm._spill import RunFolder
from keepwarm.trace.hashes import BlockHashes

PART_BLOCKS, PART_REQUESTS = 1 << 21, 1 << 17
"""A part ends with the request that reaches one of them."""

_ABOUT = b"keepwarm"  # key of a file's metadata
_About = TypeVar("_About", bound=msgspec.Struct)


class RequestColumns(NamedTuple):
    """What is kept of requests besides their blocks, one entry each; see ``DenseTrace``.

    ``blocks``: how many known full blocks each stores. ``lines``: of the file, from 1.
    """

    lines: npt.NDArray[np.int64]
    prompt_tokens: npt.NDArray[np.int64]
    output_tokens: npt.NDArray[np.int64]
    skip_reads: npt.NDArray[np.bool_]
    time_s: npt.NDArray[np.float64]
    cached_tokens: npt.NDArray[np.int64]
    blocks: npt.NDArray[np.int64]


class ReadSoFar(msgspec.Struct, frozen=True, kw_only=True):
    """What the requests up to the end of a part say together. ``drops_tools`` None: no tools so far."""

    models: tuple[str, ...] = ()
    all_ids_recorded: bool = True
    drops_tools: bool | None = None


class Part(NamedTuple):
    """Requests in file order. Block ``i`` of all of theirs is ``hashes[codes[i]]``.

    ``hashes`` are distinct, in order of first appearance in the part.
    """

    columns: RequestColumns
    codes: npt.NDArray[np.int32]
    hashes: BlockHashes
    so_far: ReadSoFar


class Parts(Protocol):
    """Parts in file order."""

    so_far: ReadSoFar
    requests: int
    hash_counts: list[int]  # of each part

    def add(self, part: Part) -> None:
        """One more. Mutates; raises OSError where there is no room on the disk."""

    def hashes(self, index: int) -> BlockHashes:
        """Of one part."""

    def codes(self, index: int) -> npt.NDArray[np.int32]:
        """Of one part."""

    def columns(self) -> RequestColumns:
        """Of all parts."""


class PartsInMemory:
    """Parts as they are."""

    def __init__(self) -> None:
        self.so_far = ReadSoFar()
        self.requests = 0
        self.hash_counts: list[int] = []
        self._parts: list[Part] = []

    def add(self, part: Part) -> None:
        self._parts.append(part)
        self.so_far = part.so_far
        self.requests += len(part.columns.lines)
        self.hash_counts.append(len(part.hashes))

    def hashes(self, index: int) -> BlockHashes:
        return self._parts[index].hashes

    def codes(self, index: int) -> npt.NDArray[np.int32]:
        return self._parts[index].codes

    def columns(self) -> RequestColumns:
        return _joined([part.columns for part in self._parts])


class SpilledParts:
    """Two Parquet files a part: a row per request, and its hashes. Finds those that an earlier run left."""

    def __init__(self, folder: RunFolder) -> None:
        self.so_far = ReadSoFar()
        self.requests = 0
        self.hash_counts: list[int] = []
        self._folder = folder
        while folder.get(self._name("hashes")) is not None and folder.get(self._name("requests")) is not None:
            rows = pq.read_metadata(self._path("requests"))
            self.so_far = msgspec.json.decode(rows.metadata[_ABOUT], type=ReadSoFar)
            self.requests += rows.num_rows
            self.hash_counts.append(pq.read_metadata(self._path("hashes")).num_rows)

    def add(self, part: Part) -> None:
        hashes = pa.table({"hash": part.hashes})
        self._folder.put(self._name("hashes"), lambda file: _write(file, hashes))
        starts = np.concatenate([[0], np.cumsum(part.columns.blocks)])
        blocks = pa.LargeListArray.from_arrays(pa.array(starts), pa.array(part.codes))
        self._folder.put(
            self._name("requests"),
            lambda file: write_columns(file, part.columns, part.so_far, {"codes": blocks}),
        )
        self.so_far = part.so_far
        self.requests += len(part.columns.lines)
        self.hash_counts.append(len(part.hashes))

    def hashes(self, index: int) -> BlockHashes:
        column = pq.read_table(self._path("hashes", index), use_threads=False)["hash"]
        return np.asarray(column.to_numpy())

    def codes(self, index: int) -> npt.NDArray[np.int32]:
        table = pq.read_table(self._path("requests", index), columns=["codes"], use_threads=False)
        return np.asarray(table["codes"].combine_chunks().values.to_numpy())

    def columns(self) -> RequestColumns:
        names = range(len(self.hash_counts))
        return _joined([read_columns(self._path("requests", index), ReadSoFar)[0] for index in names])

    def drop(self) -> None:
        """Remove them: what they held is elsewhere."""
        for index in range(len(self.hash_counts)):
            self._folder.drop(self._name("hashes", index))
            self._folder.drop(self._name("requests", index))

    def _name(self, kind: str, index: int | None = None) -> str:
        return f"{kind}-{len(self.hash_counts) if index is None else index:06}.parquet"

    def _path(self, kind: str, index: int | None = None) -> Any:
        return self._folder.path_of(self._name(kind, index))


class PartMaker:
    """Collects requests until they make a part."""

    def __init__(self, part_blocks: int = PART_BLOCKS) -> None:
        self._part_blocks = part_blocks
        self._hashes: BlockHashes = np.empty(part_blocks, dtype=np.uint64)
        self._used = 0
        self._columns = _empty_columns()

    @property
    def full(self) -> bool:
        """Whether it is time to ``take`` what was added."""
        return self._used >= self._part_blocks or len(self._columns[0]) >= PART_REQUESTS

    @property
    def empty(self) -> bool:
        """Whether nothing was added since the last ``take``."""
        return not self._columns[0]

    def add(self, row: tuple[int, int, int, bool, float, int], hashes: BlockHashes) -> None:
        """One request: its entry of ``RequestColumns`` but the last, and the blocks it stores."""
        stop = self._used + len(hashes)
        if stop > len(self._hashes):
            self._hashes = np.concatenate([self._hashes, np.empty(stop, dtype=np.uint64)])
        self._hashes[self._used : stop] = hashes
        self._used = stop
        for column, value in zip(self._columns, (*row, len(hashes)), strict=True):
            column.append(value)

    def take(self, so_far: ReadSoFar) -> Part:
        """What was added since the last time. Mutates."""
        interned = pa.array(self._hashes[: self._used]).dictionary_encode()  # numbers values as they come
        columns = RequestColumns(*map(np.array, self._columns))
        self._used, self._columns = 0, _empty_columns()
        return Part(
            columns._replace(skip_reads=columns.skip_reads.astype(np.bool_)),
            interned.indices.to_numpy(),
            interned.dictionary.to_numpy(),
            so_far,
        )


def _empty_columns() -> tuple[array[Any], ...]:
    return tuple(map(array, "qqqbdqq"))


def write_columns(
    file: BinaryIO, columns: RequestColumns, about: msgspec.Struct, more: dict[str, Any] | None = None
) -> None:
    """A Parquet file with a row per request, and what else is to be said in its metadata."""
    table = pa.table(columns._asdict() | (more or {}))
    _write(file, table.replace_schema_metadata({_ABOUT: msgspec.json.encode(about)}))


def read_columns(path: Any, kind: type[_About]) -> tuple[RequestColumns, _About]:
    """What ``write_columns`` wrote."""
    table = pq.read_table(path, columns=list(RequestColumns._fields), use_threads=False)
    about = msgspec.json.decode(table.schema.metadata[_ABOUT], type=kind)
    return RequestColumns(*(table[name].to_numpy() for name in RequestColumns._fields)), about


def _write(file: BinaryIO, table: Any) -> None:
    pq.write_table(table, file, compression="lz4", use_dictionary=False, write_statistics=False)


def _joined(columns: Sequence[RequestColumns]) -> RequestColumns:
    return RequestColumns(*map(np.concatenate, zip(*columns, strict=True)))
