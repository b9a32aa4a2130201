"""``map.parquet``: the runs of fates and sections of every request, a row a request.

Codes are numbers; the file's metadata says what they number, so that it can be read without keepwarm.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from keepwarm._errors import InputError
from keepwarm._parquet import read_bounded
from keepwarm.diagnose.prompt_map import FATES, SCHEMA, SECTIONS
from keepwarm.diagnose.runs import MapRuns, RunColumn

if TYPE_CHECKING:
    import pyarrow as pa

_AGAIN = "; write it anew with 'keepwarm diagnose --out'"


def write_map(runs: MapRuns) -> bytes:
    """The file's bytes: the same for the same runs and the same pyarrow."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [
        pa.array(runs.prompt_tokens),
        *(
            pa.ListArray.from_arrays(pa.array(column.offsets.astype(np.int32)), pa.array(values))
            for column in (runs.fate, runs.section)
            for values in (column.code, column.end)
        ),
    ]
    metadata = _names() | {"schema": SCHEMA, "block_size": str(runs.block_size)}
    table = pa.table(arrays, schema=_columns().with_metadata(metadata))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def read_map(source: str | os.PathLike[str] | bytes) -> MapRuns:
    """The runs back, checked: those of each request end with its last token.

    Raises InputError: no such file, of another schema, or cut.
    """
    import pyarrow as pa

    name = "the map" if isinstance(source, bytes) else f"{os.fspath(source)!r}"
    try:
        opened = pa.BufferReader(source) if isinstance(source, bytes) else os.fspath(source)
        table = read_bounded(opened, name)
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{name} cannot be read as Parquet: {error}{_AGAIN}") from None
    told = {key.decode(): value.decode("utf-8", "replace") for key, value in _metadata(table).items()}
    wanted = _names() | {"schema": SCHEMA}
    if (
        any(told.get(key) != value for key, value in wanted.items())
        or not told.get("block_size", "").isdecimal()
    ):
        raise InputError(f"{name} is {told.get('schema', 'of no schema')!r} and no {SCHEMA}{_AGAIN}")
    if not table.schema.equals(_columns()):
        raise InputError(f"{name} has not the columns of {SCHEMA}{_AGAIN}")
    prompts = table["prompt_tokens"].combine_chunks().to_numpy().astype(np.int32)
    columns = [_run_column(table, kind, prompts) for kind in ("fate", "section")]
    if None in columns:
        raise InputError(f"{name} has runs that do not fit its prompts{_AGAIN}")
    fate, section = (column for column in columns if column is not None)
    return MapRuns(int(told["block_size"]), prompts, fate, section)


def _names() -> dict[str, str]:
    return {"fates": " ".join(FATES), "sections": " ".join(SECTIONS)}


def _metadata(table: pa.Table) -> dict[bytes, bytes]:
    return table.schema.metadata or {}


def _columns() -> pa.Schema:
    import pyarrow as pa

    fields: list[Any] = [pa.field("prompt_tokens", pa.int32(), nullable=False)]
    for kind in ("fate", "section"):
        fields.append(pa.field(kind, pa.list_(pa.uint8()), nullable=False))
        fields.append(pa.field(f"{kind}_end", pa.list_(pa.int32()), nullable=False))
    return pa.schema(fields)


def _run_column(table: pa.Table, kind: str, prompts: np.ndarray[Any, Any]) -> RunColumn | None:
    """The runs of one kind; None where they are none of prompts of these lengths."""
    codes, ends = (table[name].combine_chunks() for name in (kind, f"{kind}_end"))
    if codes.values.null_count or ends.values.null_count:
        return None
    offsets = codes.offsets.to_numpy().astype(np.int64)
    if not np.array_equal(offsets, ends.offsets.to_numpy()):
        return None
    code, end = codes.values.to_numpy(), ends.values.to_numpy()
    names = FATES if kind == "fate" else SECTIONS
    lengths = np.diff(end, prepend=np.int32(0))
    first = offsets[:-1][offsets[:-1] < offsets[1:]]
    lengths[first] = end[first]
    total = np.zeros(len(prompts), dtype=np.int64)
    filled = offsets[:-1] < offsets[1:]
    total[filled] = end[offsets[1:][filled] - 1]
    sound = (code < len(names)).all() and (lengths > 0).all() and np.array_equal(total, prompts)
    return RunColumn(offsets, code, end) if sound else None
