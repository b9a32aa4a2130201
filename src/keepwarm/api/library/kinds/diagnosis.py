"""``keepwarm diagnose``."""

from __future__ import annotations

from keepwarm._text import counted, percent
from keepwarm.api.library.kinds.base import Head, TraceInput


class DiagnosisHead(Head, frozen=True, kw_only=True):
    """A diagnosis."""

    kind = "diagnosis"
    schema_name = "keepwarm.diagnosis/1"
    made_by = "keepwarm diagnose TRACE --out DIR"

    input: TraceInput
    hit_rate: float

    def title(self) -> str:
        told = self.input
        return f"{told.name}: {counted(told.requests, 'request')}, {percent(self.hit_rate)} hit (simulated)"

    def trace_sha256(self) -> str | None:
        return self.input.sha256
