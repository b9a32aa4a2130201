"""The folder of a run: ``run.json``, ``requests.parquet``, ``evidence.html`` and the manifest over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from keepwarm._errors import InputError
from keepwarm._json import decoded, to_json
from keepwarm.evidence.folder import check_place, read_folder, write_folder
from keepwarm.evidence.kinds import Kind
from keepwarm.replay.measuring.page import run_page
from keepwarm.replay.measuring.record import SCHEMA, Row, Run, run_document
from keepwarm.replay.measuring.rows import COLUMNS, rows_from_parquet, rows_to_parquet
from keepwarm.replay.measuring.rows import SCHEMA as ROWS_SCHEMA

DOCUMENT = "run.json"
ROWS = "requests.parquet"
PAGE = "evidence.html"


class KeptRun(NamedTuple):
    """A run read back; ``chain_sha256`` stands for all of its files."""

    run: Run
    rows: tuple[Row, ...]
    chain_sha256: str


def check_out(out: Path) -> None:
    """Before the work: that the folder can be made there. Raises InputError."""
    check_place(out)


def keep_run(out: Path, run: Run, rows: tuple[Row, ...]) -> str:
    """Make the folder, whole or not at all; its chain digest. Raises InputError."""
    document = run_document(run)
    return write_folder(
        out,
        {DOCUMENT: to_json(document), ROWS: rows_to_parquet(rows), PAGE: run_page(document, rows)},
    )


def read_run(directory: Path) -> KeptRun:
    """A run whose files are all as they were written. Raises InputError: they are not, or it is no run."""
    kept = read_folder(directory)
    if DOCUMENT not in kept.files or ROWS not in kept.files:
        raise InputError(f"{str(directory)!r} is no run of keepwarm replay; name the folder of one")
    try:
        document = decoded(kept.files[DOCUMENT], dict[str, Any])
        if document.get("schema") != SCHEMA:
            raise InputError(f"{str(directory / DOCUMENT)!r} is no {SCHEMA}; replay again with this keepwarm")
        run = msgspec.convert(document, Run)
    except msgspec.DecodeError as error:
        raise InputError(f"{str(directory / DOCUMENT)!r} is no {SCHEMA}: {error}; replay again") from None
    return KeptRun(run, rows_from_parquet(kept.files[ROWS]), kept.manifest.chain_sha256)


def _page(document: dict[str, Any], records: list[dict[str, Any]], note: str) -> bytes:
    return run_page(document, [msgspec.convert(record, Row) for record in records], note)


KIND = Kind(SCHEMA, DOCUMENT, ROWS, ROWS_SCHEMA, COLUMNS, PAGE, _page)
"""What a folder of a run holds, for whoever makes a copy of it."""
