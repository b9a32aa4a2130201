"""A rich diagnosis made by hand: four call sites of a help desk, six findings, 120 requests."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from keepwarm.diagnose.findings import Diagnosis, RequestRow
from keepwarm.diagnose.prompt_map import FATES, SECTIONS
from keepwarm.diagnose.report.files import Report
from keepwarm.diagnose.report.parquet import write_parquet
from keepwarm.diagnose.runs import MapRuns, RunGatherer, joined
from keepwarm.diagnose.templates import Templates

HERE = Path(__file__).parent
TERMINAL_GOLDEN = HERE / "helpdesk.terminal.txt"
REQUEST_GOLDEN = HERE / "helpdesk.request.txt"
JSON_GOLDEN = HERE / "helpdesk.contract.json"


@functools.cache
def helpdesk() -> Diagnosis:
    """As the diagnoser would return it: values as recorded, rows included."""
    return msgspec.json.decode((HERE / "helpdesk.json").read_bytes(), type=Diagnosis)


def report_of(diagnosis: Diagnosis) -> Report:
    """``diagnosis`` with runs that fit its rows, each fate in one stretch, and without templates."""
    fates, sections = RunGatherer(), RunGatherer()
    for row in diagnosis.rows:
        counts = [getattr(row.tokens, fate) for fate in FATES]
        fates.add(joined(range(len(FATES)), np.cumsum(counts, dtype=np.int32)))
        sections.add(joined([SECTIONS.index("unknown")], [row.tokens.prompt]))
    prompts = np.array([row.tokens.prompt for row in diagnosis.rows], dtype=np.int32)
    runs = MapRuns(diagnosis.cache.block_size, prompts, fates.column(), sections.column())
    return Report(diagnosis, runs, Templates(revealed=False, templates=()))


def recorded_values(diagnosis: Diagnosis) -> set[str]:
    """Every value that a finding shows."""
    return {value for finding in diagnosis.findings for value in finding.evidence.values}


def to_parquet(rows: Sequence[RequestRow]) -> bytes:
    """The file's bytes, as ``write_parquet`` writes them."""
    file = io.BytesIO()
    write_parquet(rows, file)
    return file.getvalue()
