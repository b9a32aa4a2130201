"""The folder of a comparison: ``comparison.json``, ``pairs.parquet``, ``evidence.html`` and the manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from keepwarm._json import to_json
from keepwarm.evidence.folder import write_folder
from keepwarm.evidence.kinds import Kind
from keepwarm.replay.comparing.compare import Compared
from keepwarm.replay.comparing.comparison import SCHEMA, Comparison, comparison_document
from keepwarm.replay.comparing.page import comparison_page
from keepwarm.replay.comparing.pairs import COLUMNS, PairRow, pair_row, pairs_to_parquet
from keepwarm.replay.comparing.pairs import SCHEMA as ROWS_SCHEMA

DOCUMENT = "comparison.json"
ROWS = "pairs.parquet"
PAGE = "evidence.html"


def keep_comparison(out: Path, compared: Compared) -> str:
    """Make the folder, whole or not at all; its chain digest. Raises InputError."""
    rows = [pair_row(pair) for pair in compared.pairs]
    return write_folder(
        out,
        {
            DOCUMENT: to_json(comparison_document(compared.comparison)),
            ROWS: pairs_to_parquet(rows),
            PAGE: comparison_page(compared.comparison, rows),
        },
    )


def _page(document: dict[str, Any], records: list[dict[str, Any]], note: str) -> bytes:
    pairs = [msgspec.convert(record, PairRow) for record in records]
    return comparison_page(msgspec.convert(document, Comparison), pairs, note)


KIND = Kind(SCHEMA, DOCUMENT, ROWS, ROWS_SCHEMA, COLUMNS, PAGE, _page)
"""What a folder of a comparison holds, for whoever makes a copy of it."""
