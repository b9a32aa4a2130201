"""The per-request rows as Parquet: one flat row a request, token counts in columns of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from keepwarm._text import encodable
from keepwarm.diagnose.findings import RequestRow
from keepwarm.diagnose.report import wording

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "keepwarm.requests/1"
_GROUP_ROWS = 8_192  # in memory at once


class Column(NamedTuple):
    """A column: its name, its Arrow type by name, whether it may be null, and its value in a row."""

    name: str
    type: str
    nullable: bool
    value: Callable[[RequestRow], object]


def _text(name: str, *, nullable: bool = False) -> Column:
    def value(row: RequestRow) -> str | None:
        text: str | None = getattr(row, name)
        return None if text is None else encodable(text)

    return Column(name, "string", nullable, value)


def _number(name: str, kind: str = "int64", *, nullable: bool = False) -> Column:
    return Column(name, kind, nullable, lambda row: getattr(row, name))


def _tokens(fate: str) -> Column:
    return Column(f"{fate}_tokens", "int64", False, lambda row: getattr(row.tokens, fate))


def _lengths(name: str) -> Column:
    """Characters of each token, of texts in which nothing had to be escaped."""

    def value(row: RequestRow) -> list[int]:
        text: str = getattr(row, name.removesuffix("_tokens"))
        return list(getattr(row, name)) if encodable(text) == text else []

    return Column(name, "list<int32>", False, value)


COLUMNS: tuple[Column, ...] = (
    _number("index"),
    _number("line"),
    _text("id"),
    _text("session"),
    _text("call_site"),
    _text("model"),
    _number("time_s", "float64", nullable=True),
    _tokens("prompt"),
    *(_tokens(fate.name) for fate in wording.FATES),
    _number("cached_tokens", nullable=True),
    _text("baseline_request", nullable=True),
    _number("break_token", nullable=True),
    _text("break_path", nullable=True),
    _text("break_before"),
    _text("break_here"),
    _text("break_there"),
    Column("causes", "list<string>", False, lambda row: list(row.causes)),
    _number("break_byte", nullable=True),
    *(_lengths(f"break_{part}_tokens") for part in ("before", "here", "there")),
    _number("counted", "bool"),
)


def arrow_schema() -> pa.Schema:
    """The columns as Arrow knows them, with the schema's name in the metadata."""
    import pyarrow as pa

    types = {
        "int64": pa.int64(),
        "float64": pa.float64(),
        "bool": pa.bool_(),
        "string": pa.string(),
        "list<string>": pa.list_(pa.string()),
        "list<int32>": pa.list_(pa.int32()),
    }
    return pa.schema(
        [pa.field(c.name, types[c.type], nullable=c.nullable) for c in COLUMNS], metadata={"schema": SCHEMA}
    )


def write_parquet(rows: Sequence[RequestRow], file: BinaryIO) -> None:
    """Write the rows, some thousands at a time. The same bytes for the same rows and the same pyarrow."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = arrow_schema()
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for start in range(0, max(1, len(rows)), _GROUP_ROWS):
            group = rows[start : start + _GROUP_ROWS]
            arrays = [
                pa.array([column.value(row) for row in group], type=schema.field(column.name).type)
                for column in COLUMNS
            ]
            writer.write_table(pa.table(arrays, schema=schema))
