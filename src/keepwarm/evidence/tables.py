"""Rows of evidence as Parquet with a named schema: written with stable bytes, read back only if it fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from keepwarm._errors import InputError
from keepwarm._parquet import read_bounded

if TYPE_CHECKING:
    import pyarrow as pa


class Column(NamedTuple):
    """A column: its name, its Arrow type by name, and whether it may be null."""

    name: str
    type: str
    nullable: bool = False


def table_bytes(schema: str, columns: Sequence[Column], records: Sequence[dict[str, Any]]) -> bytes:
    """The file's bytes: the same for the same records and the same pyarrow."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = _arrow_schema(schema, columns)
    arrays = [
        pa.array([record[column.name] for record in records], type=arrow.field(column.name).type)
        for column in columns
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(arrays, schema=arrow), sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def read_table(schema: str, columns: Sequence[Column], content: bytes) -> list[dict[str, Any]]:
    """The records. Raises InputError: the file is not of that schema."""
    return records_of(open_table(schema, columns, content))


def open_table(schema: str, columns: Sequence[Column], content: bytes) -> pa.Table:
    """The table, not yet as records. Raises InputError: the file is not of that schema."""
    table = _table(content)
    told = (table.schema.metadata or {}).get(b"schema", b"").decode("utf-8", "replace")
    if told != schema or not table.schema.equals(_arrow_schema(schema, columns)):
        raise InputError(f"a table of schema {told!r} is no {schema}; replay again with this keepwarm")
    return table


def records_of(table: pa.Table) -> list[dict[str, Any]]:
    """Its rows. Raises InputError: a text in it is none."""
    import pyarrow as pa

    try:
        records: list[dict[str, Any]] = table.to_pylist()
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"a table of evidence cannot be read: {error}; take an untouched copy") from None
    return records


def _table(content: bytes) -> Any:
    import pyarrow as pa

    try:
        return read_bounded(pa.BufferReader(content), "a table of evidence")
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"rows that are no Parquet: {error}; take an untouched copy") from None


def _arrow_schema(schema: str, columns: Sequence[Column]) -> Any:
    import pyarrow as pa

    types = {
        "int64": pa.int64(),
        "float64": pa.float64(),
        "bool": pa.bool_(),
        "string": pa.string(),
        "list<int32>": pa.list_(pa.int32()),
    }
    fields = [pa.field(column.name, types[column.type], nullable=column.nullable) for column in columns]
    return pa.schema(fields, metadata={"schema": schema})
