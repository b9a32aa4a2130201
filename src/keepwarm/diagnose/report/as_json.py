"""The diagnosis as the JSON document ``keepwarm.diagnosis/1``: stable keys, stable bytes."""

from __future__ import annotations

from typing import Any

import msgspec

from keepwarm._json import plain
from keepwarm.diagnose.findings import Diagnosis, Finding, RequestRow


def diagnosis_document(diagnosis: Diagnosis, *, revealed: bool) -> dict[str, Any]:
    """``diagnosis`` without its rows, in the contract's key order; ``revealed`` says values are shown."""
    document: dict[str, Any] = plain(msgspec.structs.replace(diagnosis, rows=()))
    del document["rows"]
    if diagnosis.sample is None:
        del document["sample"], document["options"]["sample"]
    return document | {"values_revealed": revealed}


def request_document(
    diagnosis: Diagnosis, row: RequestRow, findings: tuple[Finding, ...], *, revealed: bool
) -> dict[str, Any]:
    """One request with the findings it belongs to, as ``keepwarm.explanation/1``."""
    return {
        "schema": "keepwarm.explanation/1",
        "input": {"path": diagnosis.input.path, "sha256": diagnosis.input.sha256},
        "cache": plain(diagnosis.cache),
        "encoding": plain(diagnosis.encoding),
        "request": plain(row),
        "findings": [plain(finding) for finding in findings],
        "values_revealed": revealed,
    }
