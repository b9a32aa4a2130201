"""The files of ``--out`` read back, each checked before it is believed."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from keepwarm._errors import InputError
from keepwarm._json import from_json
from keepwarm._parquet import read_bounded
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
    """``requests.parquet`` back, in the trace's order; what an earlier version did not write has defaults.

    Raises InputError: it cannot be read, is cut, or is of another schema.
    """
    return request_rows(read_request_table(path))


def read_request_table(path: str | os.PathLike[str]) -> pa.Table:
    """``requests.parquet`` as a table, checked: cheap, for who wants some of its rows. Raises InputError."""
    import pyarrow as pa

    name = f"{os.fspath(path)!r}"
    try:
        table = read_bounded(os.fspath(path), name)
        told = (table.schema.metadata or {}).get(b"schema", b"none").decode("utf-8", "replace")
        if told != SCHEMA:
            raise InputError(f"{name} is {told!r} and no {SCHEMA}; name another file")
        wrong = _misfits(table.schema)
        if wrong:
            raise InputError(f"{name} has columns that are not those of {SCHEMA}: {', '.join(wrong)}{_AGAIN}")
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{name} cannot be read as Parquet: {error}{_AGAIN}") from None
    if any(column.null_count for column in _list_values(table)):
        raise InputError(f"{name} has lists with values missing{_AGAIN}")
    return table


def request_rows(table: pa.Table) -> tuple[RequestRow, ...]:
    """The rows of what ``read_request_table`` gave, or of a part of it."""
    columns = {name: _values(table[name]) for name in table.schema.names}
    known = [name for name in RequestRow.__struct_fields__ if name in columns]
    fates = zip(*(columns[f"{name}_tokens"] for name in ("prompt", *FATES)), strict=True)
    values = zip(*(columns[name] for name in known), strict=True)
    return tuple(
        RequestRow(
            tokens=TokenFates(**dict(zip(("prompt", *FATES), own, strict=True))),
            **dict(zip(known, row, strict=True)),
        )
        for own, row in zip(fates, values, strict=True)
    )


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


def _list_values(table: pa.Table) -> Iterator[pa.Array]:
    import pyarrow as pa

    for column in table.columns:
        if pa.types.is_list(column.type):
            yield from (chunk.values for chunk in column.chunks)


def _values(column: pa.ChunkedArray) -> Sequence[Any]:
    """A column as Python values, lists as tuples: much faster than Arrow's own way with lists."""
    import pyarrow as pa

    if not pa.types.is_list(column.type):
        values: list[Any] = column.to_pylist()
        return values
    found: list[Any] = []
    for lists in column.chunks:
        offsets = lists.offsets.to_pylist()  # of a part of a table they do not begin at 0
        flat = lists.values[offsets[0] : offsets[-1]].to_pylist()
        found += (tuple(flat[a - offsets[0] : b - offsets[0]]) for a, b in itertools.pairwise(offsets))
    return found


def _bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"cannot read {os.fspath(path)!r}: {reason}; name a file that can be read") from None


def _decoded(path: str | os.PathLike[str], content: bytes, type_: type[T]) -> T:
    try:
        return from_json(content, type_)
    except msgspec.DecodeError as error:
        raise InputError(f"{os.fspath(path)!r} cannot be read: {error}{_AGAIN}") from None
