"""``keepwarm replay``."""

from __future__ import annotations

from keepwarm._text import counted, percent
from keepwarm.api.library.kinds.base import Head, TraceInput


class ReplayHead(Head, frozen=True, kw_only=True):
    """A measured run."""

    kind = "replay"
    schema_name = "keepwarm.replay/1"
    made_by = "keepwarm replay TRACE --out DIR"

    label: str
    input: TraceInput
    hit_rate: float

    def title(self) -> str:
        told = self.input
        return f"{self.label}: {counted(told.requests, 'request')}, {percent(self.hit_rate)} hit (measured)"

    def trace_sha256(self) -> str | None:
        return self.input.sha256
