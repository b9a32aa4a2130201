"""The rows of a run as Parquet: one flat row a request."""

from __future__ import annotations

import msgspec

from keepwarm._errors import InputError
from keepwarm._text import encodable
from keepwarm.evidence.tables import Column, read_table, table_bytes
from keepwarm.replay.measuring.record import Row

SCHEMA = "keepwarm.replay-requests/1"

COLUMNS: tuple[Column, ...] = (
    Column("index", "int64"),
    Column("line", "int64"),
    Column("id", "string"),
    Column("session", "string", nullable=True),
    Column("call_site", "string", nullable=True),
    Column("api", "string"),
    Column("status", "string"),
    Column("error", "string", nullable=True),
    Column("due_s", "float64", nullable=True),
    Column("sent_s", "float64", nullable=True),
    Column("ttft_s", "float64", nullable=True),
    Column("total_s", "float64", nullable=True),
    Column("tokenized_prompt_tokens", "int64", nullable=True),
    Column("prompt_tokens", "int64", nullable=True),
    Column("cached_tokens", "int64", nullable=True),
    Column("output_tokens", "int64", nullable=True),
    Column("max_tokens", "int64"),
    Column("skip_reads", "bool"),
    Column("finish_reason", "string", nullable=True),
    Column("body_sha256", "string"),
    Column("text_sha256", "string", nullable=True),
    Column("text", "string", nullable=True),
    Column("blocks", "list<int32>"),
)


def rows_to_parquet(rows: tuple[Row, ...]) -> bytes:
    """The file's bytes: the same for the same rows and the same pyarrow."""
    return table_bytes(SCHEMA, COLUMNS, [_encodable(msgspec.structs.asdict(row)) for row in rows])


def rows_from_parquet(content: bytes) -> tuple[Row, ...]:
    """The rows back. Raises InputError: it is no such file."""
    records = read_table(SCHEMA, COLUMNS, content)
    try:
        return tuple(msgspec.convert(record, Row) for record in records)
    except msgspec.ValidationError as error:
        raise InputError(f"a row is none of {SCHEMA}: {error}; replay again with this keepwarm") from None


def _encodable(record: dict[str, object]) -> dict[str, object]:
    return {name: encodable(value) if isinstance(value, str) else value for name, value in record.items()}
