"""``keepwarm simulate serving``."""

from __future__ import annotations

import msgspec

from keepwarm.api.library.kinds.base import Head, TraceInput


class _Input(TraceInput, frozen=True, kw_only=True):
    trace_sha256: str | None = None


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    scheduling: str
    eviction: str


class ServingSimulationHead(Head, frozen=True, kw_only=True):
    """Figures of a modelled server by queue order and eviction."""

    kind = "serving-simulation"
    schema_name = "keepwarm.serving-sim/1"
    made_by = "keepwarm simulate serving TRACE --json"

    input: _Input
    rows: tuple[_Row, ...]

    def title(self) -> str:
        rules = ", ".join(dict.fromkeys(f"{row.scheduling} with {row.eviction}" for row in self.rows))
        return f"{self.input.name}: {rules or 'no runs'} (simulated)"

    def trace_sha256(self) -> str | None:
        return self.input.trace_sha256
