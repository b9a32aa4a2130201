"""Measured runs and their comparisons: the document, whether its folder is as written, and the rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from keepwarm._errors import InputError
from keepwarm.api.library.library import Found, Library
from keepwarm.api.library.recognise import read_bytes
from keepwarm.api.problems import NoSuchResult
from keepwarm.api.schema.evidence import ComparisonAnswer, Integrity, PairRows, ReplayAnswer, ReplayRows
from keepwarm.evidence.manifest import NAME, manifest_from
from keepwarm.evidence.tables import Column, open_table, records_of
from keepwarm.evidence.verify import verify_folder
from keepwarm.repair.redaction import Redactor
from keepwarm.replay.comparing import files as comparing
from keepwarm.replay.comparing import pairs as pair_rows
from keepwarm.replay.comparing.comparison import Comparison
from keepwarm.replay.comparing.pairs import PairRow
from keepwarm.replay.measuring import files as measuring
from keepwarm.replay.measuring import rows as run_rows
from keepwarm.replay.measuring.record import Row, Run

if TYPE_CHECKING:
    import pyarrow as pa

_T = TypeVar("_T")
_NOT_SERVED = ("blocks",)
_PRIVATE = ("text",)
_MOST_MANIFEST_BYTES = 16 << 20
_UNTOUCHED = "take an untouched copy"


def replay_answer(library: Library, id: str) -> ReplayAnswer:  # noqa: A002 - as the answer calls it
    """One measured run. Raises NoSuchResult, InputError."""
    found = library.find(id, "replay")
    return ReplayAnswer(id=id, run=found.document(Run, _UNTOUCHED), integrity=_integrity(found))


def replay_rows(library: Library, id: str, offset: int, limit: int) -> ReplayRows:  # noqa: A002
    """A page of its requests; texts only where values are revealed. Raises NoSuchResult, InputError."""
    found = library.find(id, "replay")
    table = _table(found, measuring.ROWS, run_rows.SCHEMA, run_rows.COLUMNS)
    hidden = {*_NOT_SERVED, *(() if library.revealed else _PRIVATE)}
    shown = table.select([name for name in table.schema.names if name not in hidden])
    rows = _rows(shown.slice(offset, limit), Row)
    if not library.revealed:
        redact = Redactor().redact
        rows = [row if row.error is None else _redacted(row, redact(row.error)) for row in rows]
    return ReplayRows(rows=tuple(rows), total=table.num_rows)


def comparison_answer(library: Library, id: str) -> ComparisonAnswer:  # noqa: A002
    """BEFORE against AFTER, with the runs it is of if they are here. Raises NoSuchResult, InputError."""
    found = library.find(id, "comparison")
    comparison = found.document(Comparison, _UNTOUCHED)
    runs = _runs_by_chain(library, found)
    return ComparisonAnswer(
        id=id,
        comparison=comparison,
        integrity=_integrity(found),
        before=runs.get(comparison.before.chain_sha256),
        after=runs.get(comparison.after.chain_sha256),
    )


def comparison_pairs(
    library: Library,
    id: str,  # noqa: A002
    order: Literal["recorded", "ttft"],
    offset: int,
    limit: int,
) -> PairRows:
    """A page of its pairs; ``ttft``: the largest change of TTFT first, pairs without one last.

    Raises NoSuchResult, InputError.
    """
    found = library.find(id, "comparison")
    table = _table(found, comparing.ROWS, pair_rows.SCHEMA, pair_rows.COLUMNS)
    if order == "recorded":
        page = table.slice(offset, limit)
    else:
        page = table.take(_by_change(table)[offset:][:limit])
    return PairRows(pairs=tuple(_rows(page, PairRow)), total=table.num_rows)


def _by_change(table: pa.Table) -> list[int]:
    """Row numbers, the largest difference between the two times first; stable."""
    before, after = (table[f"{side}_ttft_s"].to_pylist() for side in ("before", "after"))
    changes = [
        -1.0 if one is None or other is None else abs(other - one)
        for one, other in zip(before, after, strict=True)
    ]
    return sorted(range(len(changes)), key=lambda number: -changes[number])


def _integrity(found: Found) -> Integrity:
    verified = verify_folder(found.path.parent)
    return Integrity(
        as_written=not verified.mismatches,
        chain_sha256=None if verified.manifest is None else verified.manifest.chain_sha256,
        mismatches=tuple(f"{name!r} {what}" for name, what in verified.mismatches),
    )


def _runs_by_chain(library: Library, near: Found) -> dict[str, str]:
    """Ids of the runs in the folder by what their manifests say; of copies the one that lies nearest."""
    runs: dict[str, tuple[int, str, str]] = {}
    for item, path, _ in library.all("replay"):
        if item.problem is not None:
            continue  # said where it is shown, as is a manifest that cannot be read
        try:
            manifest = manifest_from(read_bytes(str(path.with_name(NAME)), _MOST_MANIFEST_BYTES))
        except (InputError, OSError, ValueError):
            continue
        rank = (-_shared(path, near.path), item.path, item.id)
        chain = manifest.chain_sha256
        runs[chain] = min(runs.get(chain, rank), rank)
    return {chain: run for chain, (_, _, run) in runs.items()}


def _shared(one: Path, other: Path) -> int:
    """How many folders from the top both lie in."""
    return sum(1 for folder in one.parents if folder in other.parents)


def _table(found: Found, name: str, schema: str, columns: Sequence[Column]) -> pa.Table:
    path = found.beside(name)
    if path is None:
        raise NoSuchResult(f"there is no {name!r} beside {found.item.path!r}; copy the whole folder")
    try:
        content = read_bytes(str(path))
    except OSError as error:
        raise InputError(f"cannot read {name!r} beside {found.item.path!r}: {error}; take a copy") from None
    return open_table(schema, columns, content)


def _rows(table: pa.Table, kind: type[_T]) -> list[_T]:
    records: list[dict[str, Any]] = records_of(table)
    try:
        return [msgspec.convert(record, kind) for record in records]
    except msgspec.ValidationError as error:
        raise InputError(f"a row of evidence is not as it must be: {error}; take an untouched copy") from None


def _redacted(row: Row, error: str) -> Row:
    return msgspec.structs.replace(row, error=error)
