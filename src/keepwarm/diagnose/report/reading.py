"""The files of ``--out`` read back, each checked before it is believed."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from keepwarm._errors import InputError
from keepwarm.diagnose.findings import Diagnosis, RequestRow, TokenFates
from keepwarm.diagnose.prompt_map import FATES
from keepwarm.diagnose.report.parquet import SCHEMA, arrow_schema
from keepwarm.diagnose.templates import SCHEMA as TEMPLATES_SCHEMA
from keepwarm.diagnose.templates import Templates

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

_DIAGNOSIS_SCHEMA = "keepwarm.diagnosis/1"
_AGAIN = "; write it anew with 'keepwarm diagnose --out'"


class SavedDiagnosis(NamedTuple):
    """A diagnosis as it was written, without its rows; ``revealed`` says that values are shown."""

    diagnosis: Diagnosis
    revealed: bool


class _Head(msgspec.Struct, frozen=True):
    schema: str = "none"
    values_revealed: bool = False


def read_diagnosis(path: str | os.PathLike[str]) -> SavedDiagnosis:
    """``diagnosis.json`` back. ``rows`` are empty: they are in ``requests.parquet``.

    Raises InputError: it cannot be read, is cut, or is of another schema.
    """
    content = _bytes(path)
    head = _decoded(path, content, _Head)
    if head.schema != _DIAGNOSIS_SCHEMA:
        raise InputError(
            f"{os.fspath(path)!r} is {head.schema!r} and no {_DIAGNOSIS_SCHEMA}; name another file"
        )
    return SavedDiagnosis(_decoded(path, content, Diagnosis), head.values_revealed)


def read_templates(path: str | os.PathLike[str]) -> Templates:
    """``templates.json`` back. Raises InputError: it cannot be read, is cut, or is of another schema."""
    content = _bytes(path)
    schema = _decoded(path, content, _Head).schema
    if schema != TEMPLATES_SCHEMA:
        raise InputError(f"{os.fspath(path)!r} is {schema!r} and no {TEMPLATES_SCHEMA}; name another file")
    return _decoded(path, content, Templates)


def read_requests(path: str | os.PathLike[str]) -> tuple[RequestRow, ...]:
    """``requests.parquet`` back, in the trace's order; what an earlier version did not write is left out.

    Raises InputError: it cannot be read, is cut, or is of another schema.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = f"{os.fspath(path)!r}"
    try:
        table = pq.read_table(os.fspath(path), use_threads=False)
        told = (table.schema.metadata or {}).get(b"schema", b"none").decode("utf-8", "replace")
        if told != SCHEMA:
            raise InputError(f"{name} is {told!r} and no {SCHEMA}; name another file")
        wrong = _misfits(table.schema)
        if wrong:
            raise InputError(f"{name} has columns that are not those of {SCHEMA}: {', '.join(wrong)}{_AGAIN}")
        table.validate(full=True)
        return _rows({column: _values(table[column]) for column in table.schema.names})
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name} cannot be read as Parquet: {error}{_AGAIN}") from None


def _misfits(schema: pa.Schema) -> list[str]:
    """Columns of another type than ours, or missing though every version wrote them."""
    ours = arrow_schema()
    found = {name: schema.field(name) for name in schema.names}
    defaults = {field.name for field in msgspec.structs.fields(RequestRow) if not field.required}
    return [
        field.name
        for field in ours
        if (field.name not in defaults if field.name not in found else not found[field.name].equals(field))
    ]


def _rows(columns: dict[str, Sequence[Any]]) -> tuple[RequestRow, ...]:
    known = [name for name in RequestRow.__struct_fields__ if name in columns]
    fates = zip(*(columns[f"{name}_tokens"] for name in ("prompt", *FATES)), strict=True)
    tokens = [TokenFates(**dict(zip(("prompt", *FATES), row, strict=True))) for row in fates]
    values = zip(*(columns[name] for name in known), strict=True)
    return tuple(
        RequestRow(tokens=own, **dict(zip(known, row, strict=True)))
        for own, row in zip(tokens, values, strict=True)
    )


def _values(column: pa.ChunkedArray) -> Sequence[Any]:
    """A column as Python values, lists as tuples: much faster than Arrow's own way with lists."""
    import pyarrow as pa

    if not pa.types.is_list(column.type):
        values: list[Any] = column.to_pylist()
        return values
    lists = column.combine_chunks()
    if lists.values.null_count:
        raise pa.ArrowInvalid("a list has a missing value")
    offsets, flat = lists.offsets.to_pylist(), lists.values.to_pylist()
    return [tuple(flat[start:end]) for start, end in itertools.pairwise(offsets)]


def _bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"cannot read {os.fspath(path)!r}: {reason}; name a file that can be read") from None


def _decoded(path: str | os.PathLike[str], content: bytes, type_: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{os.fspath(path)!r} cannot be read: {error}{_AGAIN}") from None
