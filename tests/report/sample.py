"""A rich diagnosis made by hand: four call sites of a help desk, six findings, 120 requests."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec

from keepwarm.diagnose.findings import Diagnosis

HERE = Path(__file__).parent
TERMINAL_GOLDEN = HERE / "helpdesk.terminal.txt"
REQUEST_GOLDEN = HERE / "helpdesk.request.txt"
JSON_GOLDEN = HERE / "helpdesk.contract.json"


@functools.cache
def helpdesk() -> Diagnosis:
    """As the diagnoser would return it: values as recorded, rows included."""
    return msgspec.json.decode((HERE / "helpdesk.json").read_bytes(), type=Diagnosis)


def recorded_values(diagnosis: Diagnosis) -> set[str]:
    """Every value that a finding shows."""
    return {value for finding in diagnosis.findings for value in finding.evidence.values}
